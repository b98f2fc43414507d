// Package dsl is the small language inside templates: expressions, and texts with
// placeholders.
//
// An expression is compiled once (Compile) and evaluated for every response (Expr.Eval).
// It is read as the template language has it, section 6: an operator language with
// types that do not mix, functions under two names each, and a few peculiarities that
// templates depend on. An Expr lists its variables (Names) and literal tests (Needles) and estimates its
// cost (Cost), so that cheap tests run first and many literals are searched for in one pass.
//
// A Text is a text with placeholders: it is parsed once, bound step by step as
// values become known, and rendered at the end. Values are data. Nothing in one is ever
// expanded, whoever it came from, nor does it count as a placeholder that stayed.
//
// Functions that use the network, the clock or random numbers do so through a functions.Host.
// Everything that a template or a target decides is bounded: sizes, depth, waiting.
package dsl
