package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Structs is the module nuclei/structs: values in bytes, as formats such as ">I4s" say.
func Structs(h *host.Host) *goja.Object {
	return h.Module(map[string]goja.Value{
		"Pack": h.Func(func(a *host.Args) (any, error) { return pack(a.Text(0), listOf(a.Any(1))) }),
		"Unpack": h.Func(func(a *host.Args) (any, error) {
			return unpack(a.Text(0), a.Bytes(1))
		}),
		"StructsCalcSize": h.Func(func(a *host.Args) (any, error) {
			items, _, err := parseFormat(a.Text(0))
			return sizeOf(items), err
		}),
	})
}

// item is a value of a format: its letter and its size in bytes.
type item struct {
	letter byte
	size   int
}

// sizes are those of values by their letter; a text (s) has one for each character, padding (x) no value.
var sizes = map[byte]int{
	'x': 1, 'c': 1, 'b': 1, 'B': 1, '?': 1, 'h': 2, 'H': 2, 'i': 4, 'I': 4, 'l': 4, 'L': 4, 'q': 8, 'Q': 8, 'f': 4,
	'd': 8, 's': 1,
}

const maxStruct = 1 << 20 // bytes of a format's values

func parseFormat(format string) (items []item, order binary.ByteOrder, err error) {
	order = binary.LittleEndian
	count, counted, total := 0, false, 0
	for _, c := range []byte(format) {
		switch {
		case c == '<' || c == '=' || c == '@':
			order = binary.LittleEndian
		case c == '>' || c == '!':
			order = binary.BigEndian
		case c == ' ':
		case c >= '0' && c <= '9':
			count, counted = min(count*10+int(c-'0'), maxStruct+1), true
		case sizes[c] == 0:
			return nil, nil, fmt.Errorf("the format has no values of the kind %q", c)
		default:
			if !counted {
				count = 1
			}
			if total += count * sizes[c]; total > maxStruct {
				return nil, nil, fmt.Errorf("the format has more than %d bytes", maxStruct)
			}
			if c == 's' {
				items = append(items, item{c, count})
			} else {
				for range count {
					items = append(items, item{c, sizes[c]})
				}
			}
			count, counted = 0, false
		}
	}
	return items, order, nil
}

func sizeOf(items []item) (n int) {
	for _, i := range items {
		n += i.size
	}
	return n
}

func pack(format string, values []any) ([]byte, error) {
	items, order, err := parseFormat(format)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, sizeOf(items))
	for _, i := range items {
		if i.letter == 'x' {
			out = append(out, 0)
			continue
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("the format %.40q has more values than were given", format)
		}
		field, err := packOne(i, order, values[0])
		if err != nil {
			return nil, err
		}
		out, values = append(out, field...), values[1:]
	}
	if len(values) > 0 {
		return nil, fmt.Errorf("the format %.40q has fewer values than were given", format)
	}
	return out, nil
}

func packOne(i item, order binary.ByteOrder, v any) ([]byte, error) {
	field := make([]byte, max(i.size, 8))
	if i.letter == 's' || i.letter == 'c' {
		switch v := v.(type) {
		case string:
			copy(field, v)
		case []byte:
			copy(field, v)
		default:
			return nil, fmt.Errorf("%v is no text", v)
		}
		return field[:i.size], nil
	}
	var number float64
	var whole int64
	switch v := v.(type) {
	case int64:
		number, whole = float64(v), v
	case float64:
		number, whole = v, int64(v)
	case bool:
		if v {
			whole = 1
		}
	default:
		return nil, fmt.Errorf("%v is no number", v)
	}
	bits := uint64(whole)
	switch i.letter {
	case 'f':
		bits = uint64(math.Float32bits(float32(number)))
	case 'd':
		bits = math.Float64bits(number)
	}
	switch i.size {
	case 1:
		field[0] = byte(bits)
	case 2:
		order.PutUint16(field, uint16(bits))
	case 4:
		order.PutUint32(field, uint32(bits))
	default:
		order.PutUint64(field, bits)
	}
	return field[:i.size], nil
}

func unpack(format string, data []byte) ([]any, error) {
	items, order, err := parseFormat(format)
	if err != nil {
		return nil, err
	}
	if sizeOf(items) != len(data) {
		return nil, errors.New("the data is not as long as the format says")
	}
	values := []any{}
	for _, i := range items {
		if i.letter != 'x' {
			values = append(values, unpackOne(i, order, data[:i.size]))
		}
		data = data[i.size:]
	}
	return values, nil
}

func unpackOne(i item, order binary.ByteOrder, b []byte) any {
	switch i.letter {
	case 's', 'c':
		return string(b)
	case '?':
		return b[0] != 0
	case 'b':
		return int64(int8(b[0]))
	case 'B':
		return int64(b[0])
	case 'h':
		return int64(int16(order.Uint16(b)))
	case 'H':
		return int64(order.Uint16(b))
	case 'i', 'l':
		return int64(int32(order.Uint32(b)))
	case 'I', 'L':
		return int64(order.Uint32(b))
	case 'f':
		return float64(math.Float32frombits(order.Uint32(b)))
	case 'd':
		return math.Float64frombits(order.Uint64(b))
	case 'q':
		return int64(order.Uint64(b))
	}
	return order.Uint64(b)
}
