package outage

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestOf(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		code string // empty: no outage
	}{
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "disk_full"},
		{fmt.Errorf("storing: %w", &os.PathError{Op: "write", Err: syscall.EDQUOT}), "disk_full"},
		{&os.PathError{Op: "open", Err: syscall.EROFS}, "storage_unavailable"},
		{&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, "too_many_open_files"},
		{&pgconn.PgError{Code: "53100"}, "disk_full"},
		{fmt.Errorf("reading: %w", &pgconn.PgError{Code: "57P01"}), "database_unavailable"},
		{&pgconn.PgError{Code: "08006"}, "database_unavailable"},
		{&pgconn.PgError{Code: "25006"}, "database_unavailable"},
		{driver.ErrBadConn, "database_unavailable"},
		{errs.From(&pgconn.PgError{Code: "57P03"}), "database_unavailable"},
		// A target or a webhook that is away, a mistake, a refused request.
		{refused, ""}, {&pgconn.PgError{Code: "42P01"}, ""}, {&pgconn.PgError{Code: "23505"}, ""},
		{&os.PathError{Op: "open", Err: syscall.ENOENT}, ""}, {errors.New("x"), ""}, {nil, ""},
		{errs.New(errs.NotFound, "x", "y"), ""},
	} {
		got := Of(c.err)
		if (got == nil) != (c.code == "") || got != nil && (got.Code != c.code || !errors.Is(got, c.err)) {
			t.Errorf("%v is %v, want %q", c.err, got, c.code)
		}
		if got != nil && (got.Kind.Status() < 503 || got.Extra[RetryAfter] == "") {
			t.Errorf("%s: %d, %v", got.Code, got.Kind.Status(), got.Extra)
		}
	}
}

func TestOfAnswer(t *testing.T) {
	for err, want := range map[error]bool{
		io.ErrUnexpectedEOF: true, &net.OpError{Op: "write", Err: syscall.EPIPE}: true, driver.ErrBadConn: true,
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}: false, errors.New("x"): false, context.Canceled: false,
	} {
		if got := OfAnswer(errs.From(err)); (got != nil) != want {
			t.Errorf("%v is %v", err, got)
		}
	}
	if Of(io.ErrUnexpectedEOF) != nil {
		t.Error("jobs read from others: what they cut short is no outage")
	}
}
