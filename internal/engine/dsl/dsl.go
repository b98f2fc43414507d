// Package dsl evaluates the expressions of templates, and renders texts with placeholders.
//
// An expression is compiled once ([Compile]) and evaluated for every response ([Expr.Eval]). Section 6 of the
// template language defines it: operators whose types do not mix, functions under two names each, and a few
// peculiarities that templates depend on. An Expr lists its variables (Names) and its searches for constant texts
// (Needles) and estimates its cost (Cost), so that cheap tests run first and many texts are searched for in one pass.
//
// A [Text] is parsed once, bound step by step as values become known, and rendered at the end. Values are data:
// nothing in them is expanded or counts as an unresolved placeholder.
//
// Functions reach network, clock and random numbers through a functions.Host. Sizes, depths and waits that templates
// or targets decide are bounded.
package dsl
