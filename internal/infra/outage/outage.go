// Package outage recognises errors whose cause is neither a request nor a mistake in the program: a database that does
// not answer, a full or broken disk, a process that has no descriptors left. They end by themselves or by the operator.
package outage

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// RetryAfter is the key of an error's Extra with the seconds after which a client may try again.
const RetryAfter = "retry_after"

// The outages, as callers see them.
var (
	full = outage(errs.NoSpace, "disk_full",
		"The server's disk is full: nothing was changed. It goes on when its operator has made room.")
	database = outage(errs.Unavailable, "database_unavailable",
		"The server cannot reach its database just now. Try again later.")
	storage = outage(errs.Unavailable, "storage_unavailable",
		"The server cannot write to its disk just now. Try again when its operator has repaired it.")
	descriptors = outage(errs.Unavailable, "too_many_open_files",
		"The server has too many files and connections open just now. Try again later.")
)

func outage(kind errs.Kind, code, message string) *errs.Error {
	return errs.New(kind, code, "%s", message).With(RetryAfter, "5")
}

// Of is the outage that caused err, with err as its cause, and nil if err has none. Errors of connections to others,
// such as targets and webhooks, are no outages.
func Of(err error) *errs.Error {
	found := of(err)
	if found == nil {
		return nil
	}
	return found.Because(err)
}

// OfAnswer is Of for the error that answers a request. That of a connection which broke in the middle of a statement
// has nothing of the database in it; handlers explain broken connections to others themselves.
func OfAnswer(err error) *errs.Error {
	if found := Of(err); found != nil {
		return found
	}
	op, _ := errors.AsType[*net.OpError](err)
	broken := op != nil && (op.Op == "read" || op.Op == "write")
	if broken || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
		return database.Because(err)
	}
	return nil
}

func of(err error) *errs.Error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if found := ofSystem(errno); found != nil {
			return found
		}
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return ofSQLite(lite.Code())
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return ofPostgres(pg.Code)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if connecting || errors.Is(err, driver.ErrBadConn) {
		return database
	}
	return nil
}

func ofSystem(errno syscall.Errno) *errs.Error {
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		return full
	case syscall.EROFS, syscall.EIO:
		return storage
	case syscall.EMFILE, syscall.ENFILE:
		return descriptors
	}
	return nil
}

func ofSQLite(code int) *errs.Error {
	switch code & 0xff { // the rest is the detail
	case sqlite3.SQLITE_FULL:
		return full
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return storage
	}
	return nil
}

// ofPostgres reads an SQLSTATE (PostgreSQL, appendix A).
func ofPostgres(state string) *errs.Error {
	switch state {
	case "53100":
		return full
	case "25006", // a write on a standby: a fail-over is under way
		"57P01", "57P02", "57P03", // it stops, has crashed, or starts
		"53000", "53200", "53300", // it is out of memory or connections
		"58000", "58030": // its own system fails
		return database
	}
	if len(state) == 5 && state[:2] == "08" { // connections
		return database
	}
	return nil
}
