package dsl

import (
	"fmt"
	"math"
	"reflect"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

type op uint8

const (
	opNone op = iota
	opList
	opThen // ?
	opElse // :
	opCoalesce
	opOr
	opAnd
	opEqual
	opUnequal
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opMatch
	opNoMatch
	opIn
	opBitAnd
	opBitOr
	opBitXor
	opShiftLeft
	opShiftRight
	opAdd
	opSubtract
	opMultiply
	opDivide
	opModulo
	opPower
	opNegate
	opNot
	opInvert
)

// operators are the binary operators with their precedence (template language 6.2).
var operators = []struct {
	text  string
	kind  kind
	op    op
	binds int
}{
	{",", separator, opList, 1},
	{"?", ternary, opThen, 2}, {":", ternary, opElse, 2}, {"??", ternary, opCoalesce, 2},
	{"||", logical, opOr, 3},
	{"&&", logical, opAnd, 4},
	{"==", comparator, opEqual, 5}, {"!=", comparator, opUnequal, 5},
	{">", comparator, opGreater, 5}, {">=", comparator, opGreaterEqual, 5},
	{"<", comparator, opLess, 5}, {"<=", comparator, opLessEqual, 5},
	{"=~", comparator, opMatch, 5}, {"!~", comparator, opNoMatch, 5},
	{"in", comparator, opIn, 5},
	{"&", modifier, opBitAnd, 6}, {"|", modifier, opBitOr, 6}, {"^", modifier, opBitXor, 6},
	{"<<", modifier, opShiftLeft, 7}, {">>", modifier, opShiftRight, 7},
	{"+", modifier, opAdd, 8}, {"-", modifier, opSubtract, 8},
	{"*", modifier, opMultiply, 9}, {"/", modifier, opDivide, 9}, {"%", modifier, opModulo, 9},
	{"**", modifier, opPower, 10},
}

// precedence and spelling are the precedence and text of each operator.
var precedence, opTexts = func() (b [opInvert + 1]int, s [opInvert + 1]string) {
	for _, o := range operators {
		b[o.op], s[o.op] = o.binds, o.text
	}
	s[opNegate], s[opNot], s[opInvert] = "-", "!", "~"
	return b, s
}()

func errOperand(o op, v any) error {
	return fmt.Errorf("%s cannot be used with %s", opTexts[o], functions.Quote(v))
}

// applyBinary applies a binary operator (types: section 6.3).
func applyBinary(o op, a, b any) (any, error) {
	switch o {
	case opEqual:
		return equal(a, b), nil
	case opUnequal:
		return !equal(a, b), nil
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		return compare(o, a, b)
	case opAdd:
		return add(a, b)
	case opIn:
		return within(a, b)
	}
	x, ok := a.(float64)
	if !ok {
		return nil, errOperand(o, a)
	}
	y, ok := b.(float64)
	if !ok {
		return nil, errOperand(o, b)
	}
	return arithmetic(o, x, y), nil
}

func arithmetic(o op, x, y float64) float64 {
	switch o {
	case opSubtract:
		return x - y
	case opMultiply:
		return x * y
	case opDivide:
		return x / y
	case opModulo:
		return math.Mod(x, y)
	case opPower:
		return math.Pow(x, y)
	case opBitAnd:
		return float64(int64(x) & int64(y))
	case opBitOr:
		return float64(int64(x) | int64(y))
	case opBitXor:
		return float64(int64(x) ^ int64(y))
	case opShiftLeft:
		return float64(uint64(x) << uint64(y))
	default: // opShiftRight
		return float64(uint64(x) >> uint64(y))
	}
}

// add adds numbers, or joins texts if one value is a text: numbers in the form of %v then, such as 1.2345678e+07.
func add(a, b any) (any, error) {
	s, left := a.(string)
	t, right := b.(string)
	if left && right {
		if len(s)+len(t) > functions.MaxResult {
			return nil, functions.ErrTooLarge
		}
		return s + t, nil
	}
	if left || right {
		s := fmt.Sprint(a)
		t := fmt.Sprint(b)
		if len(s)+len(t) > functions.MaxResult {
			return nil, functions.ErrTooLarge
		}
		return s + t, nil
	}
	x, ok := a.(float64)
	if !ok {
		return nil, errOperand(opAdd, a)
	}
	y, ok := b.(float64)
	if !ok {
		return nil, errOperand(opAdd, b)
	}
	return x + y, nil
}

// equal compares without conversions.
func equal(a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && x == y
	case float64:
		y, ok := b.(float64)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	return reflect.DeepEqual(a, b)
}

func compare(o op, a, b any) (any, error) {
	if x, ok := a.(float64); ok {
		if y, ok := b.(float64); ok {
			return ordered(o, x, y), nil
		}
		return nil, errOperand(o, b)
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return ordered(o, x, y), nil
		}
		return nil, errOperand(o, b)
	}
	return nil, errOperand(o, a)
}

func ordered[T float64 | string](o op, x, y T) bool {
	switch o {
	case opGreater:
		return x > y
	case opGreaterEqual:
		return x >= y
	case opLess:
		return x < y
	default: // opLessEqual
		return x <= y
	}
}

func within(a, b any) (any, error) {
	list, ok := b.([]any)
	if !ok {
		return nil, errOperand(opIn, b)
	}
	for _, v := range list {
		if equal(a, functions.Widen(v)) {
			return true, nil
		}
	}
	return false, nil
}
