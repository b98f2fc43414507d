// Command services compares vedette with nuclei on protocols other than HTTP: see ../../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/vedette-sec/vedette/oracle/services"
)

// run has the settings of the command.
type run struct {
	corpus, own, vedette, nuclei string
	scratch                      string // resolvers, lists of targets, files to read
	say                          bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("services: ")
	r := &run{}
	flag.StringVar(&r.corpus, "templates", "", "folder of templates")
	flag.StringVar(&r.own, "own", "testdata/services", "folder of templates of our own, by protocol")
	flag.StringVar(&r.vedette, "vedette", "", "our binary")
	flag.StringVar(&r.nuclei, "nuclei", "", "nuclei's binary")
	only := flag.String("type", "", "only these families of protocols, separated by commas")
	measure := flag.Bool("bench", false, "measure CPU time and memory instead")
	threshold := flag.Float64("threshold", 99.5, "percentage of templates that must agree")
	flag.BoolVar(&r.say, "say", false, "print what the programs write to stderr")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.main(ctx, *only, *measure, *threshold); err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		stop()
		os.Exit(1)
	}
}

// sign replaces our own templates by copies that are signed, and has nuclei trust the key: it runs no scripts of unsigned
// ones.
func (r *run) sign(ctx context.Context) error {
	signed, keys := filepath.Join(r.scratch, "own"), filepath.Join(r.scratch, "keys")
	if err := os.CopyFS(signed, os.DirFS(r.own)); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"templates", "keys", "--name", "oracle", "--folder", keys, "--no-passphrase"},
		{"templates", "sign", signed, "--key", filepath.Join(keys, "vedette-key.pem")},
	} {
		command := exec.CommandContext(ctx, r.vedette, args...)
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	r.own = signed
	return errors.Join(os.Setenv("NUCLEI_USER_CERTIFICATE", filepath.Join(keys, "vedette-certificate.pem")),
		os.Setenv("NUCLEI_USER_PRIVATE_KEY", filepath.Join(keys, "vedette-key.pem")))
}

func (r *run) main(ctx context.Context, only string, measure bool, threshold float64) (err error) {
	if r.own, err = filepath.Abs(r.own); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "oracle-lists-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.scratch)
	if err := r.sign(ctx); err != nil {
		return fmt.Errorf("signing templates: %w", err)
	}
	servers, err := services.Start(ctx)
	if servers != nil {
		defer servers.Stop()
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d services run\n", len(servers.Started))
	for _, line := range servers.Missing {
		fmt.Println("not started:", line)
	}
	if err := files(filepath.Join(r.scratch, "files")); err != nil {
		return err
	}
	if measure {
		return r.bench(ctx, only)
	}
	all, same := 0, 0
	for _, f := range r.families(servers.Started) {
		if only != "" && !strings.Contains(","+only+",", ","+f.name+",") {
			continue
		}
		n, agreed, err := r.compare(ctx, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		all, same = all+n, same+agreed
	}
	if all == 0 {
		return errors.New("no templates")
	}
	percent := 100 * float64(same) / float64(all)
	fmt.Printf("%d of %d templates agree (%.2f %%)\n", same, all, percent)
	if percent < threshold {
		return fmt.Errorf("%.2f %% are wanted", threshold)
	}
	return nil
}
