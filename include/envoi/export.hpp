// Symbol visibility of the public API.
#pragma once

#if defined(_WIN32)
#define ENVOI_API
#else
#define ENVOI_API __attribute__((visibility("default")))
#endif
