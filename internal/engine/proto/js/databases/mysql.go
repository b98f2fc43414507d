package databases

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"

	"github.com/dop251/goja"
	"github.com/go-sql-driver/mysql"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// MySQL is the module nuclei/mysql.
func MySQL(h *host.Host) *goja.Object {
	client := h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("mysql.MySQLClient", nil, host.Methods{
			"IsMySQL": h.Waits(func(a *host.Args) (any, error) {
				found, err := greet(h, a, 0)
				return found != nil, err
			}),
			"FingerprintMySQL": h.Waits(func(a *host.Args) (any, error) {
				found, err := greet(h, a, 0)
				if err == nil && found == nil {
					err = errNoMySQL
				}
				if err != nil {
					return nil, err
				}
				return found.fields(a)
			}),
			"Connect": h.Waits(func(a *host.Args) (any, error) {
				o := mysqlOptions{user: a.Text(2), password: a.Text(3), database: "INFORMATION_SCHEMA"}
				return mysqlAfterGreeting(h, a, o, "")
			}),
			"ConnectWithDSN": h.Waits(func(a *host.Args) (any, error) { return mysqlAsk(h, a.Text(0), "") }),
			"ExecuteQuery": h.Waits(func(a *host.Args) (any, error) {
				return mysqlAfterGreeting(h, a, mysqlOptions{user: a.Text(2), password: a.Text(3)}, a.Text(4))
			}),
			"ExecuteQueryOnDB": h.Waits(func(a *host.Args) (any, error) {
				o := mysqlOptions{user: a.Text(2), password: a.Text(3), database: a.Text(4)}
				return mysqlAfterGreeting(h, a, o, a.Text(5))
			}),
			"ExecuteQueryWithOpts": h.Waits(func(a *host.Args) (any, error) { return mysqlWithOptions(h, a) }),
		}), nil
	})
	options := h.Class(func(*host.Args) (*goja.Object, error) {
		o, _ := h.Value(host.Fields{
			{Name: "Host", Value: ""}, {Name: "Port", Value: 0}, {Name: "Protocol", Value: ""},
			{Name: "Username", Value: ""}, {Name: "Password", Value: ""}, {Name: "DbName", Value: ""},
			{Name: "RawQuery", Value: ""}, {Name: "Timeout", Value: 0},
		}).(*goja.Object)
		return o, nil
	})
	return h.Module(map[string]goja.Value{
		"MySQLClient": client, "MySQLOptions": options,
		"BuildDSN": h.Func(func(a *host.Args) (any, error) {
			o, err := optionsOf(a.Value(0))
			if err != nil {
				return nil, err
			}
			return o.dsn(), nil
		}),
	})
}

var errNoMySQL = errors.New("not a mysql service")

// greeting is what a server says first.
type greeting struct {
	version, problem string
	code             int
	at               net.Addr
}

// greet reads the greeting of the server in two arguments; nil for that of something else.
func greet(h *host.Host, a *host.Args, i int) (found *greeting, err error) {
	_, err = h.Ask(a, i, func(conn net.Conn) (any, error) {
		head := make([]byte, 4)
		if _, err := io.ReadFull(conn, head); err != nil {
			return nil, silence(err)
		}
		n := int(binary.LittleEndian.Uint32(head) & 0xffffff)
		if n < 3 || n > 4096 {
			return nil, nil //nolint:nilnil // it is no greeting
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(conn, body); err != nil {
			return nil, silence(err)
		}
		if found = parseGreeting(body); found != nil {
			found.at = conn.RemoteAddr()
		}
		return nil, nil //nolint:nilnil // the answer is in found
	})
	return found, err
}

// silence is nil for a server that closes or says too little.
func silence(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func parseGreeting(body []byte) *greeting {
	switch body[0] {
	case 10:
		end := bytes.IndexByte(body[1:], 0)
		if end < 1 || len(body) < end+2+13 || body[end+2+12] != 0 {
			return nil
		}
		return &greeting{version: string(body[1 : 1+end])}
	case 0xff:
		code := int(binary.LittleEndian.Uint16(body[1:3]))
		if code < 1000 || code > 2000 {
			return nil
		}
		return &greeting{problem: string(body[3:]), code: code}
	}
	return nil
}

func (g *greeting) fields(a *host.Args) (any, error) {
	kind := "handshake"
	if g.problem != "" {
		kind = "error"
	}
	raw, err := json.Marshal(struct {
		PacketType string `json:"packetType"`
		Message    string `json:"errorMsg"`
		Code       int    `json:"errorCode"`
	}{kind, g.problem, g.code})
	if err != nil {
		return nil, err
	}
	ip, _, _ := net.SplitHostPort(g.at.String())
	return host.Fields{
		{Name: "Host", Value: a.Text(0)}, {Name: "IP", Value: ip}, {Name: "Port", Value: a.Int(1)},
		{Name: "Protocol", Value: "mysql"}, {Name: "TLS", Value: false}, {Name: "Transport", Value: "tcp"},
		{Name: "Version", Value: g.version},
		{Name: "Debug", Value: host.Fields{
			{Name: "PacketType", Value: kind}, {Name: "ErrorMessage", Value: g.problem}, {Name: "ErrorCode", Value: g.code},
		}},
		{Name: "Raw", Value: string(raw)},
	}, nil
}

type mysqlOptions struct{ address, protocol, user, password, database, query string }

// optionsOf are those in an object of MySQLOptions.
func optionsOf(v goja.Value) (mysqlOptions, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return mysqlOptions{}, errors.New("the options are no MySQLOptions")
	}
	get := func(name string) string {
		if v := o.Get(name); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			return v.String()
		}
		return ""
	}
	if n, err := strconv.Atoi(get("Port")); err != nil || n < 1 || n > 65535 || get("Host") == "" {
		return mysqlOptions{}, errors.New("invalid host or port")
	}
	return mysqlOptions{
		host.Address(get("Host"), get("Port")), get("Protocol"), get("Username"), get("Password"), get("DbName"),
		get("RawQuery"),
	}, nil
}

func (o mysqlOptions) dsn() string {
	if o.protocol == "" {
		o.protocol = "tcp"
	}
	return fmt.Sprintf("%s:%s@%s(%s)/%s%s", url.QueryEscape(o.user), o.password, o.protocol, o.address, o.database, o.query)
}

// mysqlAfterGreeting asks the server in the first two arguments, if it is one.
func mysqlAfterGreeting(h *host.Host, a *host.Args, o mysqlOptions, query string) (any, error) {
	found, err := greet(h, a, 0)
	if err == nil && found == nil {
		err = errNoMySQL
	}
	if err != nil {
		return nil, err
	}
	if o.address, err = a.Address(0); err != nil {
		return nil, err
	}
	return mysqlAsk(h, o.dsn(), query)
}

func mysqlWithOptions(h *host.Host, a *host.Args) (any, error) {
	o, err := optionsOf(a.Value(0))
	if err != nil {
		return nil, err
	}
	return mysqlAsk(h, o.dsn(), a.Text(1))
}

// mysqlAsk connects, and asks if there is a query. What follows from the name of the source is held to what a scan may
// do: no local files, no sockets of this machine, and no TLS, in which the guard could not look.
func mysqlAsk(h *host.Host, dsn, query string) (any, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if cfg.TLSConfig != "" && cfg.TLSConfig != "false" && cfg.TLSConfig != "preferred" {
		return nil, &host.Missing{Name: "mysql: tls=" + cfg.TLSConfig}
	}
	if cfg.Net == "unix" {
		return nil, errors.New("a socket of this machine is out of scope")
	}
	at, guard := server{h, cfg.Addr}, &mysqlGuard{}
	cfg.TLSConfig, cfg.TLS, cfg.AllowAllFiles, cfg.Logger = "", nil, false, &mysql.NopLogger{}
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := at.dial(ctx)
		if err != nil {
			return nil, err
		}
		guard = &mysqlGuard{Conn: conn}
		return guard, nil
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	got, err := at.ask(func(ctx context.Context) (any, error) {
		conn, err := connector.Connect(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if query == "" {
			return true, nil
		}
		asker, ok := conn.(driver.QueryerContext)
		if !ok {
			return nil, errors.New("the driver cannot query")
		}
		rows, err := asker.QueryContext(ctx, query, nil)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return collect(rows)
	})
	if err != nil && guard.refused != nil {
		err = guard.refused // the driver calls it an invalid connection
	}
	return got, err
}

// collect reads all rows. As in nuclei, a later error does not take away those before it.
func collect(rows driver.Rows) (any, error) {
	r := answer{columns: rows.Columns()}
	types, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	raw := make([]driver.Value, len(r.columns))
	for {
		err := rows.Next(raw)
		if errors.Is(err, io.EOF) {
			return r.fields(), nil
		}
		if err != nil {
			if len(r.rows) > 0 {
				return r.fields(), nil
			}
			return nil, err
		}
		values := make([]any, len(raw))
		for i, v := range raw {
			values[i] = text(v)
			if types != nil && types.ColumnTypeDatabaseTypeName(i) == "BOOL" {
				values[i] = v == true
			}
		}
		if err := r.add(values); err != nil {
			return nil, err
		}
	}
}
