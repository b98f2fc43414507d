package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

const demoInstruction = "Please give %s a full check: exposed files, backups and panels, directory listings, headers, cookies and CORS."

func newDemo() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "See a task run against a weak web site, on this machine alone", Args: cobra.NoArgs,
		Long: `Starts a server with an empty, temporary store and a deliberately weak web site, both on
loopback, hands over one task in plain language, and shows its progress and its verified
findings. It needs no network, no language model and no account.`,
		Example: `  vedette demo
  vedette demo --once`,
	}
	once := cmd.Flags().Bool("once", false, "exit after the task instead of serving on")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return demo(cmd, *once) }
	return cmd
}

func demo(cmd *cobra.Command, once bool) (err error) {
	dir, err := os.MkdirTemp("", "vedette-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()

	c, _, err := app.Load(map[string]any{"data_dir": dir, "listen": "127.0.0.1:0"}, nil, "")
	if err != nil {
		return err
	}
	c.Version = version
	server, err := app.Open(cmd.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	base, err := server.Listen(cmd.Context())
	if err != nil {
		return errors.Join(err, server.Close())
	}
	ctx, stopServing := context.WithCancel(cmd.Context())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }()
	defer func() {
		stopServing()
		err = errors.Join(err, <-served)
	}()
	password := ids.Random(20)
	key, err := demoKey(ctx, server.Accounts, password)
	if err != nil {
		return err
	}
	return demoTask(cmd, client.Client{Base: base, Key: key}, site, password, once)
}

const demoEmail = "demo@vedette.example"

func demoKey(ctx context.Context, accounts *account.Accounts, password string) (string, error) {
	u, err := accounts.CreateUser(ctx, account.NewUser{Email: demoEmail, Password: password, Admin: true})
	if err != nil {
		return "", err
	}
	k, err := accounts.CreateKey(account.WithCaller(ctx, account.Caller{UserID: u.ID}))
	return k.Key, err
}

func demoTask(cmd *cobra.Command, c client.Client, site *httptest.Server, password string, once bool) error {
	ctx, stderr, out := cmd.Context(), cmd.ErrOrStderr(), cmd.OutOrStdout()
	instruction := fmt.Sprintf(demoInstruction, site.URL)
	fmt.Fprintf(stderr, "A weak web site waits on %s, and vedette on %s.\nThe task: %s\n\n", site.URL, c.Base, instruction)
	began := time.Now()
	d, err := follow(ctx, c, client.Task{Instruction: instruction, Delivery: "artifact"}, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr)
	if err := printDetail(out, "text", d); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d verified findings in %.1f s. The task is in the API: GET /api/v1/tasks/%s\n", len(d.Issues),
		time.Since(began).Seconds(), d.Task.ID)
	if err := d.exit(""); err != nil {
		return err
	}
	if len(d.Issues) == 0 {
		return errors.New("the weak site has findings, and none was made")
	}
	if once {
		return nil
	}
	fmt.Fprintf(out, "\nOpen the task in the console: %s/tasks/%s\nSign in as %s with the password %s\n", c.Base, d.Task.ID,
		demoEmail, password)
	fmt.Fprintf(out, "\nThe API is described on %s/docs. Try:\n  curl -H 'X-Api-Key: %s' %s/api/v1/issues\nStop with Ctrl-C; nothing of the demo is kept.\n", c.Base, c.Key, c.Base)
	<-ctx.Done()
	return nil
}
