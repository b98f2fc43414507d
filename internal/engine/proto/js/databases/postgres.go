package databases

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Postgres is the module nuclei/postgres.
func Postgres(h *host.Host) *goja.Object {
	connect := func(database func(a *host.Args) string) host.Method {
		return h.Waits(func(a *host.Args) (any, error) {
			if err := mustBePostgres(h, a); err != nil {
				return nil, err
			}
			_, err := postgresAsk(h, a, database(a), "select 1")
			if err != nil && !unreachable(err) {
				return false, nil // the password is wrong, or the like
			}
			return err == nil, err
		})
	}
	return h.Module(map[string]goja.Value{"PGClient": h.Class(func(*host.Args) (*goja.Object, error) {
		return h.Object("postgres.PGClient", nil, host.Methods{
			"IsPostgres":    h.Waits(func(a *host.Args) (any, error) { return isPostgres(h, a) }),
			"Connect":       connect(func(*host.Args) string { return "postgres" }),
			"ConnectWithDB": connect(func(a *host.Args) string { return a.Text(4) }),
			"ExecuteQuery": h.Waits(func(a *host.Args) (any, error) {
				if err := mustBePostgres(h, a); err != nil {
					return nil, err
				}
				return postgresAsk(h, a, a.Text(4), a.Text(5))
			}),
		}), nil
	})})
}

// startup begins a session of a user that every server knows by name.
func startup() []byte {
	body := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	return append(binary.BigEndian.AppendUint32(nil, uint32(4+len(body))), body...)
}

// isPostgres is whether the server answers as PostgreSQL does: with a refusal, or a question for a password.
func isPostgres(h *host.Host, a *host.Args) (any, error) {
	return h.Ask(a, 0, func(conn net.Conn) (any, error) {
		got, err := h.Exchange(conn, startup())
		if err != nil {
			return nil, err
		}
		return len(got) >= 6 && strings.IndexByte("REv", got[0]) >= 0 && got[1] == 0 && got[2] == 0, nil
	})
}

func mustBePostgres(h *host.Host, a *host.Args) error {
	is, err := isPostgres(h, a)
	if err == nil && is != true {
		err = errors.New("not a postgres service")
	}
	return err
}

// unreachable is whether an error says nothing about a login.
func unreachable(err error) bool {
	if _, dialled := errors.AsType[*host.DialError](err); dialled {
		return true
	}
	if _, slow := errors.AsType[net.Error](err); slow {
		return true
	}
	for _, sign := range []string{"no pg_hba.conf entry for host", "reset", "i/o timeout", "deadline exceeded"} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// postgresAsk asks the server in the first two arguments as the user in the next two, without TLS, as nuclei does.
func postgresAsk(h *host.Host, a *host.Args, database, query string) (any, error) {
	address, err := a.Address(0)
	if err != nil {
		return nil, err
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	source := url.URL{
		Scheme: "postgres", User: url.UserPassword(a.Text(2), a.Text(3)), Host: "server.invalid", Path: "/" + database,
		RawQuery: "sslmode=disable&passfile=%2Fdev%2Fnull&servicefile=%2Fdev%2Fnull",
	}
	cfg, err := pgconn.ParseConfig(source.String())
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	at := server{h, address}
	// What the environment of this process says of a server is not the target's.
	cfg.Host, cfg.Port, cfg.User, cfg.Password, cfg.Database = name, uint16(n), a.Text(2), a.Text(3), database
	cfg.TLSConfig, cfg.Fallbacks, cfg.RuntimeParams, cfg.ValidateConnect = nil, nil, map[string]string{}, nil
	cfg.ConnectTimeout = h.Timeout
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return at.dial(ctx) }
	cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{name}, nil }
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	return at.ask(func(ctx context.Context) (any, error) {
		conn, err := pgconn.ConnectConfig(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer conn.Close(ctx)
		return postgresRows(conn.Exec(ctx, query))
	})
}

// postgresRows are the rows of the first result.
func postgresRows(results *pgconn.MultiResultReader) (any, error) {
	defer results.Close()
	r := answer{columns: []string{}}
	if results.NextResult() {
		rows := results.ResultReader()
		types := rows.FieldDescriptions()
		for _, f := range types {
			r.columns = append(r.columns, f.Name)
		}
		for rows.NextRow() {
			values := make([]any, len(types))
			for i, raw := range rows.Values() {
				values[i] = postgresValue(types[i].DataTypeOID, raw)
			}
			if err := r.add(values); err != nil {
				return nil, err
			}
		}
		if _, err := rows.Close(); err != nil {
			return nil, err
		}
	}
	if err := results.Close(); err != nil {
		return nil, err
	}
	return r.fields(), nil
}

// postgresValue is a value by the number of its type: booleans, integers and texts, as nuclei gives them.
func postgresValue(oid uint32, raw []byte) any {
	text := string(raw)
	switch oid {
	case 16: // bool
		return text == "t"
	case 23: // int4
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	case 17: // bytea
		if data, err := hex.DecodeString(strings.TrimPrefix(text, `\x`)); err == nil && strings.HasPrefix(text, `\x`) {
			return string(data)
		}
	case 1082, 1114, 1184: // date, timestamp, timestamptz
		for _, layout := range []string{"2006-01-02 15:04:05.999999Z07", "2006-01-02 15:04:05.999999", time.DateOnly} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.Format(time.RFC3339Nano)
			}
		}
	}
	return text
}
