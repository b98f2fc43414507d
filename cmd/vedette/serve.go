package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/local"
	"github.com/vedette-sec/vedette/internal/app"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the APIs, and work on tasks", Args: cobra.NoArgs,
		Example: `  vedette serve
  vedette serve --listen 0.0.0.0:8080 --data-dir /var/lib/vedette
  vedette serve --role server --database postgres://vedette@db/vedette`,
	}
	local.WithConfig(cmd, false, serve)
	return cmd
}

func newWorker() *cobra.Command {
	cmd := &cobra.Command{
		Use: "worker", Short: "Work on tasks of a shared PostgreSQL database, without serving", Args: cobra.NoArgs,
		Example: `  vedette worker --database postgres://vedette@db/vedette`,
	}
	local.WithConfig(cmd, false, func(cmd *cobra.Command, args []string, c app.Config) error {
		c.Role = app.RoleWorker
		return serve(cmd, args, c)
	})
	return cmd
}

func serve(cmd *cobra.Command, _ []string, c app.Config) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	c.Version = version
	a, err := app.Open(ctx, c, c.Logger())
	if err != nil {
		return err
	}
	base, err := a.Listen(ctx)
	if err != nil {
		a.Close()
		return err
	}
	debug.FreeOSMemory() // memory that only the start needed
	cli.ReleaseImage()
	if base == "" {
		fmt.Fprintln(stderr, "vedette works on tasks. Stop it with Ctrl-C.")
		return a.Run(ctx)
	}
	fmt.Fprintf(stderr, "vedette serves on %s (API: %s/docs). Stop it with Ctrl-C.\n", base, base)
	link, err := a.SetupLink(ctx, base)
	if err != nil {
		a.Close()
		return err
	}
	if link != "" {
		fmt.Fprintf(stderr, "There are no users yet. Make the first one here (the link works once):\n  %s\n", link)
	}
	return a.Run(ctx)
}
