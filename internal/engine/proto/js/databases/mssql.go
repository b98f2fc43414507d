package databases

import (
	"encoding/binary"
	"net"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// MSSQL is the module nuclei/mssql: whether a server answers as Microsoft's does.
func MSSQL(h *host.Host) *goja.Object {
	missing := []string{"Connect", "ConnectWithDB", "ExecuteQuery"}
	return h.Module(map[string]goja.Value{"MSSQLClient": h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("mssql.MSSQLClient", missing, host.Methods{"IsMssql": h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				got, err := h.Exchange(conn, prelogin())
				return isPrelogin(got), err
			})
		})}), nil
	})})
}

// prelogin is the first message of TDS: the version, and that encryption would do.
func prelogin() []byte {
	options := []byte{
		0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, // a version of 6 bytes at 11, the encryption at 17
		17, 9, 0, 1, 0, 0, 0,
	}
	return append([]byte{0x12, 1, 0, byte(8 + len(options)), 0, 0, 1, 0}, options...)
}

// isPrelogin is whether an answer is one packet whose first option is the version.
func isPrelogin(b []byte) bool {
	if len(b) < 8+6 || b[0] != 4 || b[1] != 1 || int(binary.BigEndian.Uint16(b[2:])) != len(b) || b[8] != 0 {
		return false
	}
	at, n := int(binary.BigEndian.Uint16(b[9:])), int(binary.BigEndian.Uint16(b[11:]))
	return n == 6 && 8+at+n <= len(b)
}
