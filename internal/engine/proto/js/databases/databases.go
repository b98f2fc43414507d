// Package databases has the modules of javascript blocks that speak to databases: mysql, postgres and mssql. Each asks
// with a connection of its own that ends with the call. Drivers get connections that were dialled within the scope and
// that refuse messages which would make the driver take memory for what was not sent.
package databases

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Bounds of an answer.
const (
	maxRows    = 50_000
	maxValues  = 200_000
	maxMessage = 8 << 20 // bytes of one message
)

// answer is what a query gave, as nuclei shows it.
type answer struct {
	columns []string
	rows    []any
	values  int
}

func (r *answer) add(values []any) error {
	r.values += len(values) + 1
	if len(r.rows) >= maxRows || r.values > maxValues {
		return errors.New("the answer has too many rows")
	}
	row := map[string]any{}
	for i, name := range r.columns {
		row[name] = values[i]
	}
	r.rows = append(r.rows, row)
	return nil
}

func (r *answer) fields() host.Fields {
	return host.Fields{
		{Name: "Count", Value: len(r.rows)}, {Name: "Columns", Value: r.columns},
		{Name: "Rows", Value: slices.Concat([]any{}, r.rows)},
	}
}

// address is where a server is, and how to get there: only there, whatever a driver thinks of.
type server struct {
	host    *host.Host
	address string
}

func (s server) dial(ctx context.Context) (net.Conn, error) {
	return s.host.DialContext(ctx, "tcp", s.address)
}

// ask runs a question with the time of one connection.
func (s server) ask(question func(ctx context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(s.host.Ctx, s.host.Timeout)
	defer cancel()
	got, err := question(ctx)
	if err != nil {
		refused, ok := errors.AsType[*host.DialError](s.host.Failed())
		if ok && strings.Contains(err.Error(), refused.Error()) {
			return nil, refused // drivers wrap it
		}
	}
	return got, err
}

// text is a value as database/sql makes it one; "" for NULL.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
