// Results in the formats of other programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "envoi/decomposition.hpp"

namespace envoi::results {

// The SQLite book of matching pursuit that Svarog reads: tables metadata, segments, atoms and samples.
bool is_book(std::string_view bytes);
// Throws Error (bad_file) with table and row of the fault. `name` is for messages.
Decomposition read_book(std::string bytes, const std::string& name);
// Throws Error (bad_argument): what a book cannot hold. `signal` fills the table of samples, by the channels' names.
std::string book_bytes(const Decomposition& result, std::span<const Channel> signal, const std::string& name);

// ACT-lib's JSON of one or many windows.
bool is_act_json(std::string_view text);
Decomposition read_act_json(std::string_view text, const std::string& name);
// Throws Error (bad_argument): what that format cannot hold.
std::string act_json_text(const Decomposition& result, const std::string& name);

}  // namespace envoi::results
