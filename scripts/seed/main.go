// Command seed fills a database with generated scans, findings and assets, for benchmarks and trials:
//
//	go run ./scripts/seed --database sqlite:data/vedette.db --findings 1000000 --scans 10000 --assets 1000000
//
// The data depends only on the three numbers. It is written by the services themselves (uploads, scans
// that run, are stopped or wait, triage), so it is what a server would have written. Nothing is sent
// to any target. A database that it has filled takes further uploads, 20,000 results each, whose speed it prints:
//
//	go run ./scripts/seed --database sqlite:data/vedette.db --uploads 3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("seed", flag.ContinueOnError)
	url := flags.String("database", "sqlite:data/vedette.db", "database to fill: postgres://… or sqlite:PATH")
	email := flags.String("email", "seed@example.com", "owner of the data; the user is created with a team")
	findings := flags.Int("findings", 1_000_000, "findings to create")
	scans := flags.Int("scans", 10_000, "scans to create")
	assets := flags.Int("assets", 0, "assets to create, in one enumeration")
	uploads := flags.Int("uploads", 0, "uploads of 20,000 further results into a filled database, instead of filling it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scans < 1 || *findings < 0 || *assets < 0 || *uploads < 0 || flags.NArg() > 0 {
		return fmt.Errorf("invalid arguments: %d scans, %d findings, %d assets, %q", *scans, *findings, *assets, flags.Args())
	}
	d, err := db.Open(ctx, db.Config{URL: *url})
	if err != nil {
		return err
	}
	defer d.Close()
	if *uploads > 0 {
		return upload(ctx, d, *email, *uploads, perUpload)
	}
	accounts, err := account.Open(ctx, d, account.Config{})
	if err != nil {
		return err
	}
	u, err := accounts.CreateUser(ctx, account.NewUser{Email: *email, Admin: true})
	if err != nil {
		return err
	}
	ctx = account.WithCaller(ctx, account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: u.Role})
	s, err := open(ctx, d)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.fill(ctx, *scans, *findings); err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Fprintf(os.Stdout, "%d findings in %d scans of %s in %s (%.0f findings/s)\n", *findings, *scans, *email,
		took.Round(time.Second), float64(*findings)/took.Seconds())
	if *assets == 0 {
		return nil
	}
	began = time.Now()
	if err := seedAssets(ctx, d, u.TeamID, *assets); err != nil {
		return err
	}
	took = time.Since(began)
	fmt.Fprintf(os.Stdout, "%d assets of one enumeration in %s (%.0f assets/s)\n", *assets, took.Round(time.Second),
		float64(*assets)/took.Seconds())
	return nil
}
