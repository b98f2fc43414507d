// Package core has the modules of javascript blocks that know no protocol: bytes, structs, net and fs.
package core

import (
	"encoding/hex"
	"errors"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Bytes is the module nuclei/bytes: a buffer that grows.
func Bytes(h *host.Host) *goja.Object {
	buffer := h.Class(func(a *host.Args) (*goja.Object, error) {
		b := &buffer{host: h}
		if a.Len() == 0 {
			return b.object(), nil
		}
		data, ok := a.Any(0).([]byte)
		if !ok {
			return nil, errors.New("a buffer begins with a Uint8Array, or with nothing")
		}
		return b.object(), b.write(data)
	})
	return h.Module(map[string]goja.Value{"Buffer": buffer, "NewBuffer": buffer})
}

type buffer struct {
	host *host.Host
	data []byte
}

func (b *buffer) write(data []byte) error {
	if err := b.host.Spend(len(data)); err != nil {
		return err
	}
	b.data = append(b.data, data...)
	return nil
}

func (b *buffer) object() *goja.Object {
	var o *goja.Object
	text := func(*host.Args) (any, error) { return string(b.data), nil }
	o = b.host.Object("bytes.Buffer", nil, host.Methods{
		"Write":       func(a *host.Args) (any, error) { return o, b.write(a.Bytes(0)) },
		"WriteString": func(a *host.Args) (any, error) { return o, b.write([]byte(a.Text(0))) },
		"Bytes": func(*host.Args) (any, error) {
			return append([]byte(nil), b.data...), b.host.Spend(len(b.data))
		},
		"String": text, "toString": text,
		"Len":     func(*host.Args) (any, error) { return len(b.data), nil },
		"Hex":     func(*host.Args) (any, error) { return hex.EncodeToString(b.data), nil },
		"Hexdump": func(*host.Args) (any, error) { return hex.Dump(b.data), nil },
		"Pack": func(a *host.Args) (any, error) {
			data, err := pack(a.Text(0), listOf(a.Any(1)))
			if err != nil {
				return nil, err
			}
			return nil, b.write(data)
		},
	})
	return o
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
