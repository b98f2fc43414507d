package services

import (
	"encoding/binary"
	"fmt"
	"net"
	"regexp"
	"strconv"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Oracle is the module nuclei/oracle: whether a listener answers, and its version.
func Oracle(h *host.Host) *goja.Object {
	missing := []string{"Connect", "ConnectWithDSN", "ExecuteQuery", "ExecuteQueryWithDSN"}
	return h.Module(map[string]goja.Value{"OracleClient": h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("oracle.OracleClient", missing, host.Methods{"IsOracle": h.Waits(func(a *host.Args) (any, error) {
			return h.Ask(a, 0, func(conn net.Conn) (any, error) {
				name, port, err := net.SplitHostPort(conn.RemoteAddr().String())
				if err != nil {
					return nil, err
				}
				got, err := h.Exchange(conn, tnsConnect(name, port))
				if err != nil {
					return nil, err
				}
				banner := tnsRefusal(got)
				return host.Fields{{Name: "IsOracle", Value: banner != ""}, {Name: "Banner", Value: banner}}, nil
			})
		})}), nil
	})})
}

// tnsConnect asks a listener for a service that it does not have, so that it answers with a refusal.
func tnsConnect(name, port string) []byte {
	data := "(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=vedette-no-such-service)(CID=(PROGRAM=check)(HOST=check)(USER=)))" +
		"(ADDRESS=(PROTOCOL=tcp)(HOST=" + name + ")(PORT=" + port + ")))"
	const offset = 58
	var b []byte
	short := func(values ...uint16) {
		for _, v := range values {
			b = binary.BigEndian.AppendUint16(b, v)
		}
	}
	short(uint16(offset+len(data)), 0, 0x0100, 0) // length, checksum, type "connect", checksum
	short(316, 300, 0)                            // version, the oldest that is compatible, options
	short(0x8000, 0x7fff, 0x7f08, 0, 1)           // sizes, characteristics, turnaround, byte order
	short(uint16(len(data)), offset, 0, 1024, 0)  // the data, how much is taken back, flags
	return append(append(b, make([]byte, offset-len(b))...), data...)
}

var tnsNumbers = regexp.MustCompile(`\(DESCRIPTION=\(TMP=\)\(VSNNUM=(\d{1,10})\)(?:\(ERR=(\d{1,10})\))?`)

// tnsRefusal is what a refusal, a redirection or a request to repeat says of the listener; "" for another answer.
func tnsRefusal(b []byte) string {
	if len(b) < 8 || b[4] != 4 && b[4] != 2 && b[4] != 11 {
		return ""
	}
	found := tnsNumbers.FindSubmatch(b)
	if found == nil {
		return ""
	}
	n, err := strconv.ParseUint(string(found[1]), 10, 32)
	if err != nil {
		return ""
	}
	version := fmt.Sprintf("%d.%x.%x.%d.%d", n>>24, n>>20&15, n>>16&15, n>>8&255, n&255)
	return fmt.Sprintf("map[ERROR_CODE:%s Oracle TNS Listener Version:%s VSNNUM:%d]", found[2], version, n)
}
