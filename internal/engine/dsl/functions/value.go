package functions

import (
	"fmt"
	"strconv"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// String is a value as functions and placeholders use it (template language 6.6): numbers without exponent, bytes as
// text, nil as "", lists as fmt prints them.
func String(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// Widen converts numbers to float64.
func Widen(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case int32:
		return float64(v)
	case uint32:
		return float64(v)
	case uint64:
		return float64(v)
	case float32:
		return float64(v)
	}
	return v
}

// Quote is a value for an error message.
func Quote(v any) string {
	return fmt.Sprintf("%q (%T)", errs.Clip(fmt.Sprint(v), 60), v)
}
