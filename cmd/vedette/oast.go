package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/oast"
)

const oastServeLong = `Waits for what targets send to names and addresses that only a test told them: DNS
questions, HTTP and HTTPS requests, mail, LDAP, FTP, and anything over TCP. Each contact is
printed, and kept for the client whose identifier it names until the client asks for it.

Clients are those of interactsh: interactsh-client and nuclei (-interactsh-server), and
'vedette oast watch'. With --domain, the domain's NS records must lead to this machine,
and --address is what names in it are answered with. Without one, the server is known by
its address alone: http://ADDRESS:PORT/IDENTIFIER, which needs no DNS.

--listen takes http, https, dns (UDP and TCP), smtp, smtps, ldap, ldaps, ftp, ftps, tcp and
tls. HTTPS has a certificate that the server signs itself unless --cert and --key are given.
Whoever reaches the server can register unless VEDETTE_OAST_TOKEN holds a token. Everything
is kept in memory, within --sessions and --memory, and is gone when the server ends. Of
--memory, one client has a sixteenth, and half while all together need no more.`

const oastWatchLong = `Registers with an out-of-band server, one of 'vedette oast serve' or an interactsh server,
prints an address to put into requests, and then each contact with it, until it is
interrupted. No server is asked that was not named.

A token is read from VEDETTE_OAST_TOKEN. --insecure accepts the certificate that a server
signed itself.`

func newOAST() *cobra.Command {
	cmd := &cobra.Command{Use: "oast", Short: "Out-of-band interactions: a server that waits for them, and a client"}
	cmd.AddCommand(newOASTServe(), newOASTWatch())
	return cmd
}

func newOASTServe() *cobra.Command {
	var c oast.Config
	var listen, addresses []string
	var cert, key string
	var memory int
	cmd := &cobra.Command{
		Use: "serve", Short: "Wait for out-of-band interactions", Args: cobra.NoArgs, Long: oastServeLong,
		Example: `  vedette oast serve --domain oast.example.com --address 192.0.2.7
  vedette oast serve --listen http://10.0.0.5:8088,ldap://10.0.0.5:1389 -o json
  VEDETTE_OAST_TOKEN=$(cat token) vedette oast serve --domain oast.example.com --address 192.0.2.7 --cert c.pem --key k.pem`,
	}
	fs := cmd.Flags()
	fs.StringVar(&c.Domain, "domain", "", "domain that is delegated to this server")
	fs.StringSliceVar(&addresses, "address", nil, "address that names in the domain are answered with")
	fs.StringSliceVar(&listen, "listen", oast.DefaultListen, "what to listen for and where, as PROTOCOL://HOST:PORT")
	fs.StringVar(&cert, "cert", "", "file with the certificate for TLS (PEM)")
	fs.StringVar(&key, "key", "", "file with the certificate's private key (PEM)")
	fs.IntVar(&c.Sessions, "sessions", 10_000, "clients at a time, at most")
	fs.IntVar(&memory, "memory", 256, "MiB of interactions that wait for clients, at most")
	fs.DurationVar(&c.Keep, "keep", 7*24*time.Hour, "how long a client stays registered that asks for nothing")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if c.Sessions < 1 || memory < 1 || memory > 1<<20 || c.Keep <= 0 {
			return cli.Usagef("--sessions and --memory must be at least 1, --memory at most 1048576, --keep more than 0")
		}
		if (cert == "") != (key == "") {
			return cli.Usagef("--cert and --key go together")
		}
		if c.Domain != "" && len(addresses) == 0 {
			return cli.Usagef("--domain needs --address: what names in the domain are answered with")
		}
		for _, text := range addresses {
			ip, err := netip.ParseAddr(text)
			if err != nil {
				return cli.Usagef("--address: %q is no IP address", text)
			}
			c.Addresses = append(c.Addresses, ip)
		}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				return cli.Usage(err)
			}
			c.Certificate = &pair
		}
		c.Token, c.Bytes, c.Watch = os.Getenv("VEDETTE_OAST_TOKEN"), memory<<20, true
		return serveOAST(cmd, c, listen, *output)
	}
	return cmd
}

// serveOAST prints what comes in until it is interrupted.
func serveOAST(cmd *cobra.Command, c oast.Config, listen []string, output string) error {
	s, err := oast.NewServer(c)
	if err != nil {
		return cli.Usage(err)
	}
	defer s.Close()
	stderr := cmd.ErrOrStderr()
	for _, where := range listen {
		at, err := s.Listen(where)
		if err != nil {
			if !errors.As(err, new(*net.OpError)) {
				err = cli.Usage(err)
			}
			return err
		}
		protocol, _, _ := strings.Cut(where, "://")
		fmt.Fprintf(stderr, "listening: %s://%s\n", protocol, at)
	}
	if c.Token == "" {
		fmt.Fprintln(stderr, "anybody may register: VEDETTE_OAST_TOKEN is not set")
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	for {
		select {
		case <-cmd.Context().Done():
			if kept, shown := s.Dropped(); kept+shown > 0 {
				fmt.Fprintf(stderr, "%d interactions were not kept for want of room, %d were not printed\n", kept, shown)
			}
			return nil
		case one := <-s.Interactions():
			err := printInteraction(out, output, one)
			if err == nil && len(s.Interactions()) == 0 { // in a flood, many lines are written at once
				err = out.Flush()
			}
			if err != nil {
				return err
			}
		}
	}
}

func newOASTWatch() *cobra.Command {
	var server string
	var insecure bool
	var every time.Duration
	var count int
	cmd := &cobra.Command{
		Use: "watch", Short: "Register with a server and print the interactions", Args: cobra.NoArgs, Long: oastWatchLong,
		Example: `  vedette oast watch --server http://10.0.0.5:8088
  VEDETTE_OAST_TOKEN=$(cat token) vedette oast watch --server https://oast.example.com -n 3 -o json`,
	}
	fs := cmd.Flags()
	fs.StringVar(&server, "server", "", "address of the server (required)")
	fs.BoolVar(&insecure, "insecure", false, "do not verify the server's certificate")
	fs.DurationVar(&every, "every", 5*time.Second, "how often to ask for interactions")
	fs.IntVarP(&count, "number", "n", 1, "how many addresses to print")
	output := cli.OutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if server == "" {
			return cli.Usagef("--server is required: no server is asked that was not named")
		}
		if every < 100*time.Millisecond || count < 1 || count > 10_000 {
			return cli.Usagef("--every must be 100ms or more, --number between 1 and 10000")
		}
		with := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure}, //nolint:gosec // the user asked for it
		}}
		c, err := oast.NewClient(cmd.Context(), with, server, os.Getenv("VEDETTE_OAST_TOKEN"))
		if err != nil {
			return err
		}
		for range count {
			_, address := c.URL()
			fmt.Fprintln(cmd.ErrOrStderr(), address)
		}
		return watchOAST(cmd, c, every, *output)
	}
	return cmd
}

// watchOAST asks for interactions until it is interrupted, and ends the session.
func watchOAST(cmd *cobra.Command, c *oast.Client, every time.Duration, output string) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var unwritten error
		err := c.Drain(cmd.Context(), func(all []oast.Interaction) {
			for _, one := range all {
				unwritten = cmp.Or(unwritten, printInteraction(cmd.OutOrStdout(), output, one))
			}
		})
		switch {
		case unwritten != nil:
			return unwritten
		case cmd.Context().Err() != nil:
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return c.Close(ctx)
		case errors.Is(err, oast.ErrSession):
			return err
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", cli.Plain(err)) // the next question may be answered
		}
		select {
		case <-cmd.Context().Done():
		case <-tick.C:
		}
	}
}

// printInteraction writes a line: JSON, or time, protocol, who, and what was named.
func printInteraction(w io.Writer, output string, one oast.Interaction) error {
	if output == "json" {
		raw, err := json.Marshal(one)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", raw)
		return err
	}
	what, _, _ := strings.Cut(one.RawRequest, "\n")
	if one.Protocol == "dns" {
		what = one.QType
	}
	_, err := fmt.Fprintf(w, "%s %-5s %s %s %s\n", one.Timestamp.Format(time.RFC3339), one.Protocol, one.RemoteAddress,
		cli.Printable(one.FullID), cli.Printable(strings.TrimSpace(what)))
	return err
}
