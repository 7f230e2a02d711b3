// The whole public API.
#pragma once

#include "envoi/decomposition.hpp"
#include "envoi/error.hpp"
#include "envoi/events.hpp"
#include "envoi/gemm.hpp"
#include "envoi/options.hpp"
#include "envoi/pursuit.hpp"
#include "envoi/recording.hpp"
#include "envoi/results.hpp"
#include "envoi/rules.hpp"
#include "envoi/search.hpp"
#include "envoi/signal.hpp"
