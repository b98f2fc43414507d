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
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
)

// Feeds is the command that loads feeds about CVEs.
func Feeds() *cobra.Command {
	cmd := &cobra.Command{Use: "feeds", Short: "Load what is known of CVEs from files: NVD, OSV, EPSS, known exploited ones"}
	cmd.AddCommand(newFeedsLoad(), newFeedsList())
	return cmd
}

func newFeedsLoad() *cobra.Command {
	cmd := &cobra.Command{
		Use: "load", Short: "Load feeds from files", Args: cobra.NoArgs,
		Long: "Load feeds from files, compressed with gzip or not: the scores of EPSS as FIRST publishes them (CSV), the catalogue\n" +
			"of known exploited vulnerabilities as CISA publishes it (JSON), CVEs as NVD publishes them (JSON 2.0), and entries of\n" +
			"OSV (JSON, or an archive all.zip). A file of EPSS or KEV takes effect as a whole, in place of the one before, and one\n" +
			"with an error changes nothing. Entries of NVD and OSV replace older ones of the same id; the others stay. Nothing is\n" +
			"fetched from a network. A running server has them within moments, and hundreds of thousands within minutes.",
		Example: `  vedette feeds load --epss epss_scores-current.csv.gz --kev known_exploited_vulnerabilities.json
  vedette feeds load --nvd nvdcve-2.0-2024.json.gz --nvd nvdcve-2.0-modified.json.gz --osv all.zip`,
	}
	epss := cmd.Flags().String("epss", "", "a file of EPSS scores")
	kev := cmd.Flags().String("kev", "", "a file of known exploited vulnerabilities")
	nvd := cmd.Flags().StringArray("nvd", nil, "a file of CVEs from NVD; may be repeated")
	osv := cmd.Flags().StringArray("osv", nil, "a file of OSV, or an archive of such; may be repeated")
	output := cli.OutputFlag(cmd)
	WithConfig(cmd, true, func(cmd *cobra.Command, _ []string, c app.Config) error {
		if *epss == "" && *kev == "" && len(*nvd)+len(*osv) == 0 {
			return cli.Usagef("name a file with --epss, --kev, --nvd or --osv")
		}
		ctx := cmd.Context()
		return app.WithFeeds(ctx, c, func(fs *feed.Feeds, cves *vulnerability.Vulnerabilities) error {
			loaded := []feed.Loaded{}
			for _, one := range []struct {
				files []string
				load  func(*os.File) (feed.Loaded, error)
			}{
				{[]string{*epss}, func(f *os.File) (feed.Loaded, error) { return fs.LoadEPSS(ctx, f) }},
				{[]string{*kev}, func(f *os.File) (feed.Loaded, error) { return fs.LoadKEV(ctx, f) }},
				{*nvd, func(f *os.File) (feed.Loaded, error) { return cves.LoadNVD(ctx, f) }},
				{*osv, func(f *os.File) (feed.Loaded, error) { return cves.LoadOSV(ctx, f) }},
			} {
				for _, file := range one.files {
					if file == "" {
						continue
					}
					l, err := loadFeed(file, one.load)
					if err != nil {
						return err
					}
					loaded = append(loaded, l)
				}
			}
			return printFeeds(cmd.OutOrStdout(), loaded, *output)
		})
	})
	return cmd
}

func loadFeed(name string, load func(*os.File) (feed.Loaded, error)) (feed.Loaded, error) {
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
		return app.WithFeeds(cmd.Context(), c, func(fs *feed.Feeds, _ *vulnerability.Vulnerabilities) error {
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
