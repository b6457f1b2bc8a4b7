/* languages.c - what the lines of programming languages are made of. */
/* SPDX-License-Identifier: MIT */
#include "markup/languages.h"

#include <stddef.h>

#define C_COMMENTS .line = { "//" }, .block = { "/*", "*/" }

#define JAVASCRIPT                                                             \
	"async await break case catch class const continue debugger default "  \
	"delete do else export extends false finally for from function get "   \
	"if import in instanceof let new null of return set static super "     \
	"switch this throw true try typeof undefined var void while yield "

#define C_WORDS                                                                \
	"auto bool break case char const continue default do double else "     \
	"enum extern false float for goto if inline int long NULL register "   \
	"return short signed sizeof static struct switch true typedef union "  \
	"unsigned void volatile while "

const struct language languages[] = {
	{ .names = "c h",
	  .keywords = C_WORDS "restrict _Bool _Static_assert size_t",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "cpp c++ cc cxx hpp hh",
	  .keywords = C_WORDS
	  "catch class concept consteval constexpr delete "
	  "explicit final friend mutable namespace new noexcept "
	  "nullptr operator override private protected public "
	  "requires template this throw try typename using "
	  "virtual",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "python py python3 pyi",
	  .keywords = "False None True and as assert async await break class "
		      "continue def del elif else except finally for from "
		      "global if import in is lambda match nonlocal not or "
		      "pass raise return self try while with yield",
	  .line = { "#" },
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "javascript js jsx mjs cjs node",
	  .keywords = JAVASCRIPT,
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	{ .names = "typescript ts tsx mts",
	  .keywords = JAVASCRIPT
	  "abstract any as boolean declare enum implements interface keyof "
	  "namespace never number private protected public readonly string "
	  "type unknown",
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	{ .names = "go golang",
	  .keywords = "break case chan const continue default defer else error "
		      "fallthrough false for func go goto if import interface "
		      "map nil package range return select string struct "
		      "switch true type var",
	  C_COMMENTS,
	  .quotes = "\"'`",
	  .across = "`" },
	/* A ' also begins a lifetime, so it begins no string here. */
	{ .names = "rust rs",
	  .keywords = "as async await break const continue crate dyn else enum "
		      "extern false fn for if impl in let loop match mod move "
		      "mut pub ref return self Self static struct super trait "
		      "true type unsafe use where while",
	  C_COMMENTS,
	  .quotes = "\"",
	  .across = "\"" },
	{ .names = "java kotlin kt scala",
	  .keywords = "abstract boolean break case catch char class companion "
		      "continue data default def do double else enum extends "
		      "false final finally float for fun if implements import "
		      "in instanceof int interface is long new null object "
		      "override package private protected public return "
		      "sealed short static super switch this throw throws "
		      "trait true try val var void when while yield",
	  C_COMMENTS,
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "csharp cs c#",
	  .keywords = "abstract as async await base bool break case catch "
		      "class const continue decimal default do double else "
		      "enum false finally float for foreach get if in int "
		      "interface internal is long namespace new null object "
		      "out override private protected public readonly ref "
		      "return sealed set static string struct switch this "
		      "throw true try using var virtual void while yield",
	  C_COMMENTS,
	  .quotes = "\"'" },
	{ .names = "swift",
	  .keywords = "as associatedtype async await break case catch class "
		      "continue default defer do else enum extension false "
		      "for func guard if import in init inout is let nil "
		      "private protocol public repeat return self static "
		      "struct switch throw throws true try var where while",
	  C_COMMENTS,
	  .quotes = "\"",
	  .triple = true },
	{ .names = "ruby rb",
	  .keywords = "alias and begin break case class def do else elsif end "
		      "ensure false for if in module next nil not or raise "
		      "redo require rescue retry return self super then true "
		      "unless until when while yield",
	  .line = { "#" },
	  .quotes = "\"'" },
	{ .names = "php",
	  .keywords = "abstract array as break case catch class const continue "
		      "default do echo else elseif extends false final finally "
		      "fn for foreach function if implements include "
		      "instanceof interface match namespace new null private "
		      "protected public require return static switch this "
		      "throw trait true try use var while",
	  .line = { "//", "#" },
	  .block = { "/*", "*/" },
	  .quotes = "\"'" },
	{ .names = "bash sh shell zsh console",
	  .keywords = "case do done elif else esac exit export fi for function "
		      "if in local readonly return select set shift then "
		      "until while",
	  .line = { "#" },
	  .quotes = "\"'",
	  .across = "\"'" },
	{ .names = "sql postgres mysql sqlite",
	  .keywords = "add all alter and as asc begin between by case check "
		      "column commit constraint create default delete desc "
		      "distinct drop else end exists foreign from full group "
		      "having in index inner insert into is join key left like "
		      "limit not null on or order outer primary references "
		      "right rollback select set table then union unique "
		      "update values view when where with",
	  .line = { "--" },
	  .block = { "/*", "*/" },
	  .quotes = "'\"",
	  .any_case = true,
	  .raw = true },
	{ .names = "lua",
	  .keywords = "and break do else elseif end false for function goto if "
		      "in local nil not or repeat return then true until "
		      "while",
	  .line = { "--" },
	  .block = { "--[[", "]]" },
	  .quotes = "\"'" },
	{ .names = "json json5 jsonc",
	  .keywords = "false null true",
	  C_COMMENTS,
	  .quotes = "\"" },
	{ .names = "yaml yml",
	  .keywords = "false null true no yes",
	  .line = { "#" },
	  .quotes = "\"'" },
	{ .names = "toml ini cfg conf",
	  .keywords = "false true",
	  .line = { "#", ";" },
	  .quotes = "\"'",
	  .triple = true },
	{ .names = "css scss less",
	  .keywords = "important",
	  .block = { "/*", "*/" },
	  .quotes = "\"'" },
	{ .names = "html xml svg vue",
	  .keywords = "",
	  .block = { "<!--", "-->" },
	  .quotes = "\"",
	  .raw = true },
	{ .names = "makefile make mk",
	  .keywords = "define else endef endif ifdef ifeq ifndef ifneq include",
	  .line = { "#" },
	  .quotes = "" },
	{ .names = "dockerfile docker containerfile",
	  .keywords = "add arg cmd copy entrypoint env expose from healthcheck "
		      "label run shell stopsignal user volume workdir",
	  .line = { "#" },
	  .quotes = "\"'",
	  .any_case = true },
	{ 0 },
};
