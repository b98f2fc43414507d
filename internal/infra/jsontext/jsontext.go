// Package jsontext says where in a JSON text something is wrong.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Mistake is the value that made json.Unmarshal of the text fail because it does not fit its type: the path of the
// field, such as ports[3] or a[2].b[0] ("" for the whole text), and why, in words. The path is as long as the keys in
// it. It is not ok for other errors.
func Mistake(text []byte, err error) (field, why string, ok bool) {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "", "", false
	}
	why = "expected " + kind(wrong.Type)
	if number, isNumber := strings.CutPrefix(wrong.Value, "number "); isNumber {
		why = "the number is out of range"
		if strings.ContainsAny(number, ".eE") && whole(wrong.Type) {
			why = "expected a whole number, written without a fraction or an exponent"
		}
	}
	// The error's own Field leaves out the indexes of lists, and has the names of embedded structs.
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	at, _ := valueAt(dec, nil, wrong.Offset)
	return at.String(), why, true
}

// place is where a value is within an array or object.
type place struct {
	within *place // nil: the document
	key    string // of an object's value
	index  int    // of an array's value; -1 in an object
}

// String is the path of the value; "" for the document.
func (p *place) String() string {
	var up []*place
	for ; p != nil; p = p.within {
		up = append(up, p)
	}
	var path strings.Builder
	for _, p := range slices.Backward(up) {
		switch {
		case p.index >= 0:
			fmt.Fprintf(&path, "[%d]", p.index)
		case path.Len() > 0:
			path.WriteString("." + p.key)
		default:
			path.WriteString(p.key)
		}
	}
	return path.String()
}

// valueAt reads the next value and finds the one in it that ends at offset; an array or object is found by its first
// byte, where json.Unmarshal notices that its type does not fit.
func valueAt(dec *json.Decoder, at *place, offset int64) (found *place, ok bool) {
	token, err := dec.Token()
	if err != nil || dec.InputOffset() >= offset {
		return at, true
	}
	opened, isDelim := token.(json.Delim)
	if !isDelim {
		return nil, false
	}
	inner := &place{within: at, index: -1}
	for dec.More() {
		if opened == '{' {
			key, _ := dec.Token() // json.Unmarshal has read it
			inner.key, _ = key.(string)
		} else {
			inner.index++
		}
		if found, ok := valueAt(dec, inner, offset); ok {
			return found, true
		}
	}
	_, _ = dec.Token() // the closing bracket
	return nil, false
}

// kind is what JSON calls the values of a type.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	}
	return "number"
}

func whole(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}
