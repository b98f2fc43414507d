package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

const perUpload = 20_000 // results

// upload uploads further results on top of those that there are, each of them some, and prints the speed of each upload
// by the clock and its processor time, that of a PostgreSQL not included.
func upload(ctx context.Context, d *db.DB, email string, uploads, each int) error {
	accounts, err := account.Open(ctx, d, account.Config{})
	if err != nil {
		return err
	}
	c, err := accounts.Whose(ctx, email)
	if err != nil {
		return err
	}
	if c.TeamID == "" {
		return fmt.Errorf("nobody has the email %s: fill the database first", email)
	}
	ctx = account.WithCaller(ctx, c)
	first, err := db.Value[int](ctx, d, `SELECT count(*) FROM finding`)
	if err != nil {
		return err
	}
	s := &seeder{scans: scan.New(d, nil, finding.New(d, nil), nil, nil, nil, nil), at: time.Now().UTC()}
	for i := range uploads {
		body, err := s.lines(first, each)
		if err != nil {
			return err
		}
		began, used := time.Now(), processor()
		got, err := s.scans.Import(ctx, fmt.Sprintf("Further upload %d", i), body)
		if err != nil {
			return err
		}
		took := time.Since(began)
		fmt.Fprintf(os.Stdout, "%d findings on top of %d in %s (%.0f findings/s, %d µs of processor time each)\n", got.Stored,
			first, took.Round(time.Millisecond), float64(got.Stored)/took.Seconds(),
			(processor()-used).Microseconds()/int64(max(1, got.Stored)))
		first += each
	}
	return nil
}

// processor is how long this process has had a processor.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
