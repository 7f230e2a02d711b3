// The commit the command was built from.
#pragma once

extern const char* const kCommit;
