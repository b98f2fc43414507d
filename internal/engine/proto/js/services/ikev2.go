package services

import (
	"encoding/binary"
	"errors"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// IKEv2 is the module nuclei/ikev2: it makes messages of RFC 7296, which a script sends with nuclei/net.
func IKEv2(h *host.Host) *goja.Object {
	part := func(kind byte, initial host.Fields) goja.Value {
		return h.Class(func(*host.Args) (*goja.Object, error) {
			o, _ := h.Value(initial).(*goja.Object)
			h.SetState(o, kind)
			return o, nil
		})
	}
	values := map[string]goja.Value{
		"IKEMessage": h.Class(func(*host.Args) (*goja.Object, error) { return ikeMessage(h), nil }),
		"IKENonce":   part(ikeNonce, host.Fields{{Name: "NonceData", Value: []byte{}}}),
		"IKENotification": part(ikeNotify, host.Fields{
			{Name: "NotifyMessageType", Value: 0}, {Name: "NotificationData", Value: []byte{}},
		}),
	}
	for name, n := range map[string]int{
		"IKE_NOTIFY_NO_PROPOSAL_CHOSEN": 14, "IKE_NOTIFY_USE_TRANSPORT_MODE": 16391, "IKE_VERSION_2": 0x20,
		"IKE_EXCHANGE_SA_INIT": 34, "IKE_EXCHANGE_AUTH": 35, "IKE_EXCHANGE_CREATE_CHILD_SA": 36,
		"IKE_EXCHANGE_INFORMATIONAL": 37, "IKE_FLAGS_InitiatorBitCheck": 8,
	} {
		values[name] = h.VM.ToValue(n)
	}
	return h.Module(values)
}

const (
	ikeNonce    = 40
	ikeNotify   = 41
	maxIKEParts = 64
	maxIKEBytes = 60_000
)

type ikePart struct {
	kind byte
	from *goja.Object
}

// ikeMessage is a message; its fields are those that the script has set when it is encoded.
func ikeMessage(h *host.Host) *goja.Object {
	var parts []ikePart
	var o *goja.Object
	number := func(from *goja.Object, name string) uint64 {
		if v := from.Get(name); v != nil {
			return uint64(v.ToInteger())
		}
		return 0
	}
	o = h.Object("ikev2.IKEMessage", nil, host.Methods{
		"AppendPayload": func(a *host.Args) (any, error) {
			kind, ok := a.State(0).(byte)
			from, isObject := a.Value(0).(*goja.Object)
			if !ok || !isObject {
				return nil, errors.New("only payloads of this module can be appended")
			}
			if len(parts) >= maxIKEParts {
				return nil, errors.New("the message has too many payloads")
			}
			parts = append(parts, ikePart{kind, from})
			return nil, nil
		},
		"Encode": func(*host.Args) (any, error) {
			body, err := ikeBody(h, parts, number)
			if err != nil {
				return nil, err
			}
			first := byte(0)
			if len(parts) > 0 {
				first = parts[0].kind
			}
			b := binary.BigEndian.AppendUint64(nil, number(o, "InitiatorSPI"))
			b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, first, byte(number(o, "Version")), byte(number(o, "ExchangeType")),
				byte(number(o, "Flags")), 0, 0, 0, 0)
			b = binary.BigEndian.AppendUint32(b, uint32(len(b)+4+len(body)))
			return append(b, body...), h.Spend(len(body))
		},
	})
	for _, name := range []string{"InitiatorSPI", "Version", "ExchangeType", "Flags"} {
		if err := o.Set(name, 0); err != nil {
			panic(h.VM.NewGoError(err))
		}
	}
	return o
}

func ikeBody(h *host.Host, parts []ikePart, number func(*goja.Object, string) uint64) ([]byte, error) {
	var body []byte
	for i, p := range parts {
		next := byte(0)
		if i+1 < len(parts) {
			next = parts[i+1].kind
		}
		var content []byte
		if p.kind == ikeNonce {
			content = h.Bytes(p.from.Get("NonceData"))
		} else {
			// The protocol and its SPI are empty: the notice is of the whole exchange.
			content = binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(number(p.from, "NotifyMessageType")))
			content = append(content, h.Bytes(p.from.Get("NotificationData"))...)
		}
		if len(body)+len(content) > maxIKEBytes {
			return nil, errors.New("the message is too long")
		}
		body = binary.BigEndian.AppendUint16(append(body, next, 0), uint16(4+len(content)))
		body = append(body, content...)
	}
	return body, nil
}
