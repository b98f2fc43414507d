// Package dsl is the small language inside templates: expressions, and texts with
// placeholders.
//
// An expression is compiled once (Compile) and evaluated for every response (Expr.Eval).
// It is read as the template language has it, section 6: an operator language with
// types that do not mix, functions under two names each, and a few peculiarities that
// templates depend on. An Expr tells what it asks for (Names, Needles) and what it costs
// (Cost), so that cheap questions are asked first and many at once.
//
// A Text is what stands around expressions: it is parsed once, bound step by step as
// values become known, and rendered at the end. Values are data. Nothing in one is ever
// expanded, whoever it came from, nor does it count as a placeholder that stayed.
//
// Functions that touch the world (the network, the clock, chance) do so through a Host.
// Everything that a template or a target decides is bounded: sizes, depth, waiting.
package dsl
