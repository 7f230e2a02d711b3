// What tests of the dense search reach inside for.
#pragma once

namespace envoi::pursuit {

// Multiplies the proven bound of every dense search from now on; 1 is the truth.
void scale_dense_bound_for_test(double factor);

}  // namespace envoi::pursuit
