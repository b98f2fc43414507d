// Command oracle compares vedette with nuclei: see ../../README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
)

type common struct{ root, vedette, nuclei string } // folder of templates, binaries

func (c *common) parse(flags *flag.FlagSet, args []string) (err error) {
	flags.StringVar(&c.root, "templates", "", "folder of templates")
	flags.StringVar(&c.vedette, "vedette", "", "our binary")
	flags.StringVar(&c.nuclei, "nuclei", "", "nuclei's binary")
	if err = flags.Parse(args); err == nil {
		c.root, err = filepath.Abs(c.root)
	}
	return err
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("oracle: ")
	if len(os.Args) < 2 {
		log.Fatal("missing command: agree, crowd or bench")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	commands := map[string]func(context.Context, *flag.FlagSet, []string) error{"agree": agree, "bench": bench,
		"crowd": crowd}
	command, ok := commands[os.Args[1]]
	if !ok {
		log.Fatalf("unknown command %q: agree, crowd or bench", os.Args[1])
	}
	if err := command(ctx, flag.NewFlagSet(os.Args[1], flag.ExitOnError), os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}
