package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the APIs, and work on tasks", Args: cobra.NoArgs,
		Example: `  vedette serve
  vedette serve --listen 0.0.0.0:8080 --data-dir /var/lib/vedette
  vedette serve --role server --database postgres://vedette@db/vedette`,
	}
	load := configFlags(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		return serve(cmd, c)
	}
	return cmd
}

func newWorker() *cobra.Command {
	cmd := &cobra.Command{
		Use: "worker", Short: "Work on tasks of a shared PostgreSQL database, without serving", Args: cobra.NoArgs,
		Example: `  vedette worker --database postgres://vedette@db/vedette`,
	}
	load := configFlags(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		c.Role = app.RoleWorker
		return serve(cmd, c)
	}
	return cmd
}

func serve(cmd *cobra.Command, c app.Config) error {
	ctx, talk := cmd.Context(), cmd.ErrOrStderr()
	a, err := app.Open(ctx, c, c.Logger())
	if err != nil {
		return err
	}
	base, err := a.Listen(ctx)
	if err != nil {
		a.Close()
		return err
	}
	debug.FreeOSMemory() // what only the start needed, and here the pages of its code
	cli.ReleaseImage()
	if base == "" {
		fmt.Fprintln(talk, "vedette works on tasks. Stop it with Ctrl-C.")
		return a.Run(ctx)
	}
	fmt.Fprintf(talk, "vedette serves on %s (API: %s/docs). Stop it with Ctrl-C.\n", base, base)
	link, err := a.SetupLink(ctx, base)
	if err != nil {
		a.Close()
		return err
	}
	if link != "" {
		fmt.Fprintf(talk, "There are no users yet. Make the first one here (the link works once):\n  %s\n", link)
	}
	return a.Run(ctx)
}
