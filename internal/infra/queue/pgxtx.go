package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// lendPgx gives fn the connection of tx as a pgx transaction.
func lendPgx(tx *db.Tx, fn func(pgx.Tx) error) error {
	return tx.Conn.Raw(func(conn any) error {
		return fn(&pgxTx{pgxConn: conn.(*stdlib.Conn).Conn()}) //nolint:forcetypeassert // the driver of infra/db
	})
}

type pgxConn = pgx.Conn

// pgxTx is a transaction that database/sql has begun, as a pgx.Tx. Its Begin makes a savepoint; it cannot end
// the transaction itself.
type pgxTx struct {
	*pgxConn
	depth  int // savepoints around this one; 0: the transaction itself
	closed bool
}

func (t *pgxTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := &pgxTx{pgxConn: t.pgxConn, depth: t.depth + 1}
	_, err := t.Exec(ctx, fmt.Sprintf("SAVEPOINT queue_%d", inner.depth))
	return inner, err
}

func (t *pgxTx) Commit(ctx context.Context) error   { return t.end(ctx, "RELEASE SAVEPOINT") }
func (t *pgxTx) Rollback(ctx context.Context) error { return t.end(ctx, "ROLLBACK TO SAVEPOINT") }

func (t *pgxTx) end(ctx context.Context, verb string) error {
	if t.depth == 0 {
		return fmt.Errorf("queue: %s of a transaction that is only lent", verb)
	}
	if t.closed {
		return pgx.ErrTxClosed
	}
	t.closed = true
	_, err := t.Exec(ctx, fmt.Sprintf("%s queue_%d", verb, t.depth))
	return err
}

func (t *pgxTx) Conn() *pgx.Conn                { return t.pgxConn }
func (t *pgxTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
