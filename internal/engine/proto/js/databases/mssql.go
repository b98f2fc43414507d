package databases

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/dop251/goja"
	"github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// MSSQL is the module nuclei/mssql. A login is encrypted if the server can do that, by whatever certificate it has.
func MSSQL(h *host.Host) *goja.Object {
	connect := func(database func(a *host.Args) string) host.Method {
		return h.Waits(func(a *host.Args) (any, error) {
			_, err := mssqlAsk(h, a, database(a), "select 1")
			if _, refused := errors.AsType[mssql.Error](err); refused {
				return false, nil // the password is wrong, or the like
			}
			return err == nil, err
		})
	}
	return h.Module(map[string]goja.Value{"MSSQLClient": h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("mssql.MSSQLClient", nil, host.Methods{
			"IsMssql":       h.Waits(func(a *host.Args) (any, error) { return isMSSQL(h, a) }),
			"Connect":       connect(func(*host.Args) string { return "master" }),
			"ConnectWithDB": connect(func(a *host.Args) string { return a.Text(4) }),
			"ExecuteQuery": h.Waits(func(a *host.Args) (any, error) {
				is, err := isMSSQL(h, a)
				if err == nil && is != true {
					err = errors.New("not a mssql service")
				}
				if err != nil {
					return nil, err
				}
				return mssqlAsk(h, a, a.Text(4), a.Text(5))
			}),
		}), nil
	})})
}

// isMSSQL is whether a server answers the first message of TDS as Microsoft's does.
func isMSSQL(h *host.Host, a *host.Args) (any, error) {
	return h.Ask(a, 0, func(conn net.Conn) (any, error) {
		got, err := h.Exchange(conn, prelogin())
		return isPrelogin(got), err
	})
}

// mssqlSource is how the driver is set. What a script says is no part of it: a source can name files. The name of this
// machine is not the target's business.
const mssqlSource = "sqlserver://server.invalid:1433?encrypt=false&trustservercertificate=true&protocol=tcp" +
	"&workstation+id=workstation"

// mssqlAsk asks the server in the first two arguments as the user in the next two: with a domain before a backslash, by
// NTLM.
func mssqlAsk(h *host.Host, a *host.Args, database, query string) (any, error) {
	address, err := a.Address(0)
	if err != nil {
		return nil, err
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	if a.Text(2) == "" { // on Windows, the driver would log in as who runs this process
		return nil, errors.New("the name of the user is empty")
	}
	cfg, err := msdsn.Parse(mssqlSource)
	if err != nil {
		return nil, err
	}
	cfg.Host, cfg.Port, cfg.User, cfg.Password, cfg.Database = name, n, a.Text(2), a.Text(3), database
	if cfg.TLSConfig != nil {
		cfg.TLSConfig.ServerName = name
	}
	connector := mssql.NewConnectorConfig(cfg)
	connector.Dialer = mssqlDialer{h, name}
	return server{h, address}.ask(func(ctx context.Context) (any, error) {
		conn, err := connector.Connect(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		statement, err := conn.Prepare(query)
		if err != nil {
			return nil, err
		}
		asker, ok := statement.(driver.StmtQueryContext)
		if !ok {
			return nil, errors.New("the driver cannot query")
		}
		rows, err := asker.QueryContext(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return collect(rows)
	})
}

// mssqlDialer dials for the driver, also where a server sends it to another one. The driver looks up no names when its
// dialler has a host.
type mssqlDialer struct {
	host *host.Host
	name string
}

// HostName implements mssql.HostDialer.
func (d mssqlDialer) HostName() string { return d.name }

// DialContext implements mssql.Dialer.
func (d mssqlDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.host.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(d.host.Timeout)
	}
	return conn, conn.SetDeadline(until)
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
