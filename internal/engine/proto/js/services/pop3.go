package services

import (
	"bytes"
	"net"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// POP3 is the module nuclei/pop3: the text of the greeting of a server that also answers a command which is none as
// POP3 does (RFC 1939).
func POP3(h *host.Host) *goja.Object {
	return h.Module(map[string]goja.Value{"IsPOP3": h.Func(h.Waits(func(a *host.Args) (any, error) {
		return h.Ask(a, 0, func(conn net.Conn) (any, error) {
			not := host.Fields{{Name: "IsPOP3", Value: false}, {Name: "Banner", Value: ""}}
			greeting, err := h.Exchange(conn, nil)
			text, is := bytes.CutPrefix(greeting, []byte("+OK"))
			if err != nil || !is {
				return not, err
			}
			answer, err := h.Exchange(conn, []byte("Not a command \r\n"))
			if err != nil || !bytes.HasPrefix(answer, []byte("-ERR")) {
				return not, err
			}
			banner := string(bytes.TrimPrefix(text, []byte(" ")))
			return host.Fields{{Name: "IsPOP3", Value: true}, {Name: "Banner", Value: banner}}, nil
		})
	}))})
}
