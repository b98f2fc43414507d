package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// backend is River on one of the two databases: a client of *sql.Tx or of pgx.Tx.
type backend interface {
	insert(ctx context.Context, tx *db.Tx, args rawArgs, lane string) (jobID int64, err error)
	cancel(ctx context.Context, tx *db.Tx, jobID int64) (ended bool, err error)
	within(tx *db.Tx, fn func(exec riverdriver.Executor) error) error
	wake()
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

type sqlTexts struct {
	clock      string // the database's clock, as River stores times
	skipLocked string // the suffix of a SELECT that locks rows, and passes over those that others have locked
	notify     string // has River's workers look at a queue; empty: Queue.wake does it
	now        string // the database's clock, in microseconds
	late       string // seconds since the oldest scheduled_at of a group
}

func openSQLite(ctx context.Context, q *Queue) error {
	driver := riversqlite.New(q.db.Writer())
	withTx := func(tx *db.Tx, fn func(*sql.Tx) error) error { return fn(tx.SQL) }
	if err := migrateSQLite(ctx, q.log, q.db, driver); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	q.sql = sqlTexts{
		clock: "datetime('now', 'subsec')",
		now:   "CAST(unixepoch('subsec') * 1000000 AS BIGINT)",
		late:  "unixepoch('subsec') - unixepoch(min(scheduled_at), 'subsec')",
	}
	return newEngine(q, polling{driver}, withTx)
}

// polling makes River poll on SQLite, where its listener would read a table 20 times a second. The Queue wakes
// the workers of its own process.
type polling struct{ riverdriver.Driver[*sql.Tx] }

func (polling) SupportsListener() bool     { return false }
func (polling) SupportsListenNotify() bool { return false }

// riverConns are River's own connections: one listens, the others elect a leader and clean up. Claims and
// results go through the db package's pool.
const riverConns = 3

func openPostgres(ctx context.Context, q *Queue) (err error) {
	config, err := pgxpool.ParseConfig(q.db.URL)
	if err != nil {
		return err
	}
	config.MaxConns = riverConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			pool.Close()
		}
	}()
	driver := riverpgxv5.New(pool)
	if err := migratePostgres(ctx, q.log, pool, driver, nil); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	q.close, q.sql = pool.Close, sqlTexts{
		clock: "now()", skipLocked: " FOR UPDATE SKIP LOCKED",
		notify: "SELECT pg_notify(current_schema() || '.river_insert', ?)",
		now:    "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
		late:   "extract(epoch FROM clock_timestamp() - min(scheduled_at))",
	}
	return newEngine(q, riverdriver.Driver[pgx.Tx](driver), withPgxTx)
}

type engine[TTx any] struct {
	*river.Client[TTx]
	driver riverdriver.Driver[TTx]
	withTx func(tx *db.Tx, fn func(TTx) error) error
	pilot  *pilot
}

// The lanes of a node: quick jobs do not wait behind long ones.
const (
	longLane     = river.QueueDefault
	quickLane    = "quick"
	quickWorkers = 12
	quickSpare   = 4
)

const fetchEvery = 10 * time.Millisecond // between claims under load

func newEngine[TTx any](
	q *Queue, driver riverdriver.Driver[TTx], withTx func(*db.Tx, func(TTx) error) error,
) (err error) {
	e := &engine[TTx]{driver: driver, withTx: withTx, pilot: &pilot{q: q}}
	q.river = e
	config := &river.Config{
		ID:                  q.node,
		Logger:              warningsOnly(q.log),
		FetchCooldown:       time.Millisecond, // also the span in which River announces only the first insert
		FetchPollInterval:   q.config.Poll,
		JobTimeout:          -1, // a Handler has its own
		SkipUnknownJobCheck: true,
	}
	if q.config.Workers > 0 {
		config.Workers = q.workers
		config.Queues = map[string]river.QueueConfig{
			longLane:  {MaxWorkers: q.config.Workers + q.config.Spare, FetchCooldown: fetchEvery},
			quickLane: {MaxWorkers: quickWorkers + quickSpare, FetchCooldown: fetchEvery},
		}
	}
	e.Client, err = river.NewClient(piloted[TTx]{driver, e.pilot}, config)
	return err
}

func (e *engine[TTx]) insert(ctx context.Context, tx *db.Tx, args rawArgs, lane string) (jobID int64, err error) {
	err = e.withTx(tx, func(t TTx) error {
		res, err := e.InsertTx(ctx, t, args, &river.InsertOpts{Queue: lane})
		if err == nil {
			jobID = res.Job.ID
		}
		return err
	})
	return jobID, err
}

func (e *engine[TTx]) cancel(ctx context.Context, tx *db.Tx, jobID int64) (ended bool, err error) {
	err = e.withTx(tx, func(t TTx) error {
		job, err := e.JobCancelTx(ctx, t, jobID)
		ended = err != nil || job.State != rivertype.JobStateRunning
		return err
	})
	if errors.Is(err, rivertype.ErrNotFound) {
		err = nil
	}
	return ended, err
}

func (e *engine[TTx]) within(tx *db.Tx, fn func(riverdriver.Executor) error) error {
	return e.withTx(tx, func(t TTx) error { return fn(e.driver.UnwrapExecutor(t)) })
}

func (e *engine[TTx]) wake() {
	e.pilot.inserted(context.Background(), []*rivertype.JobInsertResult{
		{Job: &rivertype.JobRow{Queue: longLane}}, {Job: &rivertype.JobRow{Queue: quickLane}},
	})
}

// piloted is a driver with our pilot: River's way to let a plugin claim and settle jobs.
type piloted[TTx any] struct {
	riverdriver.Driver[TTx]
	pilot *pilot
}

func (d piloted[TTx]) PluginInit(*baseservice.Archetype) {}
func (d piloted[TTx]) PluginPilot() riverpilot.Pilot     { return d.pilot }

// pilot leads River's claims and results through the leases.
type pilot struct {
	riverpilot.StandardPilot
	q        *Queue
	inserted func(context.Context, []*rivertype.JobInsertResult) // wakes this node's workers, where nothing listens
}

func (p *pilot) PilotInit(_ *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.inserted = params.NotifyNonTxJobInsert
}

func (p *pilot) JobGetAvailable(
	ctx context.Context, _ riverdriver.Executor, _ riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams,
) ([]*rivertype.JobRow, error) {
	return p.q.claim(ctx, params)
}

func (p *pilot) JobSetStateIfRunningMany(
	ctx context.Context, _ riverdriver.Executor, params *manyStates,
) ([]*rivertype.JobRow, error) {
	return p.q.settle(ctx, params)
}

// JobInsertMany puts jobs into the queues of their teams. River announces them under the names that the client gave,
// those of the lanes.
func (p *pilot) JobInsertMany(
	ctx context.Context, exec riverdriver.Executor, params *riverdriver.JobInsertFastManyParams,
) ([]*riverdriver.JobInsertFastResult, error) {
	own := *params
	own.Jobs = make([]*riverdriver.JobInsertFastParams, len(params.Jobs))
	for i, job := range params.Jobs {
		moved := *job
		if args, ok := job.Args.(rawArgs); ok {
			moved.Queue = queueOf(job.Queue, args.team)
		}
		own.Jobs[i] = &moved
	}
	return exec.JobInsertFastMany(ctx, &own)
}

// JobGetStuck finds nothing: leases decide which jobs are stuck, not how long they run.
func (p *pilot) JobGetStuck(
	context.Context, riverdriver.Executor, *riverdriver.JobGetStuckParams,
) ([]*rivertype.JobRow, error) {
	return nil, nil
}

// warningsOnly passes on River's warnings and errors, except the one that only repeats a Cancel.
func warningsOnly(log *slog.Logger) *slog.Logger { return slog.New(warningHandler{log.Handler()}) }

type warningHandler struct{ slog.Handler }

func (h warningHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warningHandler) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasSuffix(r.Message, "job cancelled remotely") {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h warningHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningHandler{h.Handler.WithAttrs(attrs)}
}
func (h warningHandler) WithGroup(name string) slog.Handler {
	return warningHandler{h.Handler.WithGroup(name)}
}

// withPgxTx gives fn the connection of tx as a pgx transaction.
func withPgxTx(tx *db.Tx, fn func(pgx.Tx) error) error {
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
