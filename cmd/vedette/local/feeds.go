package local

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/core/feed"
)

// Feeds is the command that loads feeds about CVEs.
func Feeds() *cobra.Command {
	cmd := &cobra.Command{Use: "feeds", Short: "Load what is known of CVEs from files: EPSS and known exploited ones"}
	cmd.AddCommand(newFeedsLoad(), newFeedsList())
	return cmd
}

func newFeedsLoad() *cobra.Command {
	cmd := &cobra.Command{
		Use: "load", Short: "Load feeds from files, in place of those that were loaded before", Args: cobra.NoArgs,
		Long: "Load feeds from files, compressed with gzip or not: the scores of EPSS as FIRST publishes them (CSV), and the\n" +
			"catalogue of known exploited vulnerabilities as CISA publishes it (JSON). A file takes effect as a whole; one with\n" +
			"an error changes nothing. Nothing is fetched from a network. A running server has them within moments.",
		Example: `  vedette feeds load --epss epss_scores-current.csv.gz --kev known_exploited_vulnerabilities.json`,
	}
	epss := cmd.Flags().String("epss", "", "a file of EPSS scores")
	kev := cmd.Flags().String("kev", "", "a file of known exploited vulnerabilities")
	output := cli.OutputFlag(cmd)
	WithConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		if *epss == "" && *kev == "" {
			return cli.Usagef("name a file with --epss or --kev")
		}
		return app.WithFeeds(cmd.Context(), c, func(fs *feed.Feeds) error {
			loaded := []feed.Loaded{}
			for _, one := range []struct {
				file string
				load func(io.Reader) (feed.Loaded, error)
			}{
				{*epss, func(r io.Reader) (feed.Loaded, error) { return fs.LoadEPSS(cmd.Context(), r) }},
				{*kev, func(r io.Reader) (feed.Loaded, error) { return fs.LoadKEV(cmd.Context(), r) }},
			} {
				if one.file == "" {
					continue
				}
				l, err := loadFeed(one.file, one.load)
				if err != nil {
					return err
				}
				loaded = append(loaded, l)
			}
			return printFeeds(cmd.OutOrStdout(), loaded, *output)
		})
	})
	return cmd
}

func loadFeed(name string, load func(io.Reader) (feed.Loaded, error)) (feed.Loaded, error) {
	f, err := os.Open(name)
	if err != nil {
		return feed.Loaded{}, err
	}
	defer f.Close()
	return load(f)
}

func newFeedsList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the feeds that were loaded", Args: cobra.NoArgs, Example: `  vedette feeds list -o json`,
	}
	output := cli.OutputFlag(cmd)
	WithConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		return app.WithFeeds(cmd.Context(), c, func(fs *feed.Feeds) error {
			list, err := fs.List(cmd.Context())
			if err != nil {
				return err
			}
			return printFeeds(cmd.OutOrStdout(), list, *output)
		})
	})
	return cmd
}

func printFeeds(w io.Writer, list []feed.Loaded, output string) error {
	if output == "json" {
		return json.NewEncoder(w).Encode(append([]feed.Loaded{}, list...))
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, l := range list {
		fmt.Fprintf(t, "%s\t%d entries\t%s\t%s\n", l.Name, l.Entries, l.LoadedAt.Format("2006-01-02 15:04"),
			cli.Printable(l.Version))
	}
	return t.Flush()
}
