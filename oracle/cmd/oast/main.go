// Command oast tries out-of-band interactions with real programs: nuclei and vedette scan a site that follows what it
// is told, once with an out-of-band server of vedette and once with one of interactsh. It prints a row for each server,
// scanner and protocol, and fails when one is not as it should be. ../../run starts it in a network of its own, where
// the name server of all names is the out-of-band server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// domain is what both servers answer for, in the namespace.
const (
	domain = "oast.test"
	token  = "t0ken"
)

// protocols are the ways in which the site contacts a name, with what each must be seen as.
var protocols = []struct {
	name, protocol, request string
	// ours says that interactsh does not attribute this protocol to a client: it has no listener for any TCP, none for
	// TLS without a certificate of an authority, and keeps what comes over FTP for all holders of its token.
	ours bool
}{
	{"http", "http", "GET /contact", false},
	{"https", "https", "GET /contact", true},
	{"dns", "dns", domain, false},
	{"smtp", "smtp", "Subject: contact", false},
	{"ldap", "ldap", "Type=Search", false},
	{"ftp", "ftp", "", true},
	{"tcp", "tcp", "", true},
}

type programs struct{ vedette, nuclei, interactsh string }

func main() {
	var p programs
	flag.StringVar(&p.vedette, "vedette", "vedette", "the binary of vedette")
	flag.StringVar(&p.nuclei, "nuclei", "nuclei", "the binary of nuclei")
	flag.StringVar(&p.interactsh, "interactsh", "interactsh-server", "the binary of interactsh's server")
	flag.Parse()
	if err := try(p); err != nil {
		fmt.Fprintln(os.Stderr, "oast:", err)
		os.Exit(1)
	}
}

// try runs each scanner with each server.
func try(p programs) error {
	folder, err := os.MkdirTemp("", "oast")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	templates := filepath.Join(folder, "templates")
	if err := errors.Join(os.Mkdir(templates, 0o700), writeTemplates(templates)); err != nil {
		return err
	}
	site, err := serveSite()
	if err != nil {
		return err
	}
	wrong := 0
	fmt.Printf("%-12s %-8s %-6s %s\n", "server", "scanner", "", "interactions")
	for _, server := range []string{"vedette", "interactsh"} {
		stop, err := p.serve(server)
		if err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
		for _, scanner := range []string{"nuclei", "vedette"} {
			found, err := p.scan(scanner, site, templates)
			if err != nil {
				return errors.Join(fmt.Errorf("%s with the server of %s: %w", scanner, server, err), stop())
			}
			wrong += report(server, scanner, found)
		}
		if err := stop(); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d results are not as they should be", wrong)
	}
	return nil
}

// report prints a row for each protocol and returns how many are wrong.
func report(server, scanner string, found map[string]int) (wrong int) {
	for _, one := range protocols {
		want, note := 1, ""
		if one.ours && server == "interactsh" {
			want, note = 0, " (interactsh attributes none)"
		}
		verdict := "as it should be"
		if found[one.name] != want {
			verdict = fmt.Sprintf("WRONG: should be %d", want)
			wrong++
		}
		fmt.Printf("%-12s %-8s %-6s %d %s%s\n", server, scanner, one.name, found[one.name], verdict, note)
	}
	return wrong
}

// writeTemplates writes one template for each protocol.
func writeTemplates(folder string) error {
	for _, one := range protocols {
		text := fmt.Sprintf("id: oast-%[1]s\ninfo: {name: %[1]s, author: oracle, severity: info}\nhttp:\n"+
			"  - method: GET\n    path: ['{{BaseURL}}/%[1]s?to={{interactsh-url}}']\n    matchers-condition: and\n    matchers:\n"+
			"      - {type: dsl, dsl: ['interactsh_protocol == \"%[2]s\"']}\n"+
			"      - {type: word, part: interactsh_request, words: ['%[3]s']}\n", one.name, one.protocol, one.request)
		if one.request == "" { // the identifier is all that is said: the protocol is what there is to match
			text = text[:strings.LastIndex(text, "      - ")]
		}
		if err := os.WriteFile(filepath.Join(folder, one.name+".yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// serve starts an out-of-band server at the usual ports and returns what ends it.
func (p programs) serve(name string) (stop func() error, err error) {
	cmd := exec.Command(p.vedette, "oast", "serve", "--domain", domain, "--address", "127.0.0.1", "--listen",
		"http://127.0.0.1:80,https://127.0.0.1:443,dns://127.0.0.1:53,smtp://127.0.0.1:25,ldap://127.0.0.1:389,"+
			"ftp://127.0.0.1:21,tcp://127.0.0.1:9999")
	if name == "interactsh" {
		cmd = exec.Command(p.interactsh, "-d", domain, "-ip", "127.0.0.1", "-lip", "127.0.0.1", "-t", token, "-ftp",
			"-skip-acme", "-duc")
	}
	cmd.Env = append(os.Environ(), "VEDETTE_OAST_TOKEN="+token)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() error {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-ended
		}
		for _, port := range []string{"80", "25"} { // the next server wants them
			if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				return errors.Join(c.Close(), errors.New("it goes on after its end"))
			}
		}
		return nil
	}
	for _, port := range []string{"80", "25", "389", "21"} {
		if err := await(port, ended); err != nil {
			return nil, fmt.Errorf("%w\n%s", errors.Join(err, stop()), said.String())
		}
	}
	return stop, nil
}

// await waits until somebody listens at a port.
func await(port string, ended <-chan error) error {
	deadline := time.After(30 * time.Second)
	for {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			return c.Close()
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended: %w", err)
		case <-deadline:
			return fmt.Errorf("nobody listens at port %s", port)
		case <-time.After(50 * time.Millisecond): // nothing tells when it listens
		}
	}
}

// scan runs a scanner and counts its findings by protocol.
func (p programs) scan(scanner, site, templates string) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.vedette, "scan", "--target", site, "--templates", templates, "--jsonl",
		"--oast", "http://"+domain, "--oast-token", token,
		"-interactions-poll-duration", "1s", "-interactions-cooldown-period", "4s")
	if scanner == "nuclei" {
		cmd = exec.CommandContext(ctx, p.nuclei, "-u", site, "-t", templates, "-jsonl", "-silent", "-duc", "-sr", "-nh",
			"-iserver", "http://"+domain, "-itoken", token,
			"-interactions-poll-duration", "1", "-interactions-cooldown-period", "4")
	}
	var said strings.Builder
	cmd.Stderr = &said
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	found := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(string(raw))); lines.Scan(); {
		var event struct {
			ID string `json:"template-id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		found[strings.TrimPrefix(event.ID, "oast-")]++
	}
	if len(found) == 0 {
		fmt.Fprintln(os.Stderr, said.String())
	}
	return found, nil
}
