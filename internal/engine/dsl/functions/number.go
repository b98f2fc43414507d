package functions

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	intForm   = regexp.MustCompile(`^[-+]?(?:0|[1-9][0-9]*)$`)
	floatForm = regexp.MustCompile(`^(?:[-+]?[0-9]+)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?$`)
)

func numberFunctions() []Function {
	return []Function{
		function("to_string", 1, 1, func(_ *Env, args []any) (any, error) { return String(args[0]), nil }),
		function("to_number", 1, 1, toNumber),
		function("to_bool", 1, 1, func(_ *Env, args []any) (any, error) { return truth(args[0]), nil }),
		{Name: "dec_to_hex", Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
			n, err := wholeNumber(args[0])
			if err != nil {
				return nil, err
			}
			return strconv.FormatInt(n, 16), nil
		}},
		toDecimal("hex_to_dec", "0x", 16),
		toDecimal("oct_to_dec", "0o", 8),
		toDecimal("bin_to_dec", "0b", 2),
		function("ip_format", 2, 2, ipFormat),
	}
}

func toNumber(_ *Env, args []any) (any, error) {
	s := String(args[0])
	if intForm.MatchString(s) {
		n, err := strconv.Atoi(s)
		return float64(n), err
	}
	if s != "" && floatForm.MatchString(s) {
		return strconv.ParseFloat(s, 64)
	}
	return nil, fmt.Errorf("%s is not a number", Quote(args[0]))
}

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64, int, int64:
		return Widen(v) == 1.0
	case string:
		v = strings.TrimSpace(v)
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
		f, err := strconv.ParseFloat(v, 64)
		return err == nil && f == 1
	}
	return false
}

// wholeNumber is the integer part of a number or text.
func wholeNumber(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.Abs(v) >= 1<<63 {
			return 0, fmt.Errorf("%s is out of range", Quote(v))
		}
		return int64(v), nil
	case string:
		s := strings.TrimSpace(v)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<63 && f == math.Trunc(f) {
			return int64(f), nil
		}
	}
	return 0, fmt.Errorf("%s is not a whole number", Quote(v))
}

func toDecimal(name, prefix string, base int) Function {
	return Function{Name: name, Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
		s := String(args[0])
		b := base
		if strings.HasPrefix(s, prefix) {
			b = 0
		}
		n, err := strconv.ParseInt(s, b, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", Quote(s))
		}
		return float64(n), nil
	}}
}

// ipFormat converts an address (template language 6.6, ip_format).
func ipFormat(_ *Env, args []any) (any, error) {
	source := String(args[0])
	form, err := integer(args[1])
	if err != nil || form < 1 || form > 11 {
		return nil, errors.New("the form is a number from 1 to 11")
	}
	ip := net.ParseIP(source)
	if ip == nil {
		return nil, fmt.Errorf("%s is no address", Quote(source))
	}
	whole, end := ip, ip[12:]
	if v4 := ip.To4(); v4 != nil {
		whole = v4
	}
	switch form {
	case 1:
		return ip.String(), nil
	case 2:
		return withoutZeros(ip.String()), nil
	case 3:
		return fmt.Sprintf("%#04o.%#o.%#o.%#o", end[0], end[1], end[2], end[3]), nil
	case 4:
		return fmt.Sprintf("%#x.%#x.%#x.%#x", end[0], end[1], end[2], end[3]), nil
	case 5:
		return new(big.Int).SetBytes(whole).String(), nil
	case 6:
		return new(big.Int).SetBytes(whole).Text(2), nil
	case 7:
		return fmt.Sprintf("%#x.%d.%#o.%#x", end[0], end[1], end[2], end[3]), nil
	case 8:
		if len(whole) == net.IPv4len {
			return fmt.Sprintf("::ffff:%02x%02x:%02x%02x", end[0], end[1], end[2], end[3]), nil
		}
		return ip.String(), nil
	case 9:
		var b strings.Builder
		for i := range len(source) {
			fmt.Fprintf(&b, "%%%02X", source[i])
		}
		return b.String(), nil
	}
	if len(whole) != net.IPv4len {
		return nil, fmt.Errorf("%s has no such form", source)
	}
	if form == 10 {
		return fmt.Sprintf("%03d.%03d.%03d.%03d", whole[0], whole[1], whole[2], whole[3]), nil
	}
	if whole[3] != 0 {
		return nil, fmt.Errorf("%s does not end with zero", source)
	}
	return fmt.Sprintf("%d.%d.%d", whole[0], whole[1], int(whole[2])+255), nil
}

// withoutZeros leaves out zeros other than the first and last part of an address: 127.1 for 127.0.0.1.
func withoutZeros(ip string) string {
	parts := strings.Split(ip, ".")
	if len(parts) != 4 {
		return ip
	}
	middle := slices.DeleteFunc(parts[1:3:3], func(p string) bool { return p == "0" })
	return strings.Join(slices.Concat(parts[:1], middle, parts[3:]), ".")
}
