package scan

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// aims is where a scan goes: what was named, the targets that this makes, and what is
// never contacted.
type aims struct {
	named    []string
	targets  []string
	excluded *cli.Exclusion
}

// readTargets reads the targets of --target, of --list and, without any, of standard
// input; networks become their addresses, and excluded hosts are left out.
func (f *scanFlags) readTargets(in io.Reader) (*aims, error) {
	a := &aims{named: slices.Clone(f.targets)}
	lists := f.lists
	if len(a.named)+len(lists) == 0 && !f.noStdin && isPiped(in) {
		lists = []string{"-"}
	}
	for _, name := range lists {
		lines, err := cli.ReadList(name, in)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--list %s: %w", name, err))
		}
		a.named = append(a.named, lines...)
	}
	if len(a.named) == 0 && !f.load.Allow.SelfContained {
		return nil, cli.Usage(errors.New("there is no target: use --target or --list"))
	}
	var err error
	if a.excluded, err = cli.NewExclusion(f.exclude); err != nil {
		return nil, err
	}
	left := cli.MaxAddresses
	for _, text := range a.named {
		addresses, err := expandNetwork(text, &left)
		if err != nil {
			return nil, cli.Usage(err)
		}
		for _, target := range addresses {
			if !a.excludes(target) {
				a.targets = append(a.targets, target)
			}
		}
	}
	if len(a.named) > 0 && len(a.targets) == 0 {
		return nil, cli.Usage(errors.New("--exclude-hosts leaves no target"))
	}
	return a, nil
}

// isPiped says whether something was put into standard input: it is neither a terminal
// nor another device.
func isPiped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// expandNetwork gives the addresses of a network, or the target itself when it is none.
// left is how many addresses there may be yet.
func expandNetwork(text string, left *int) ([]string, error) {
	if number, isAS := strings.CutPrefix(strings.ToUpper(text), "AS"); isAS && strings.Trim(number, "0123456789") == "" && number != "" {
		return nil, fmt.Errorf("%s: networks are not looked up by their AS number; give them as CIDR", text)
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return []string{text}, nil //nolint:nilerr // it is a target of another kind
	}
	prefix = prefix.Masked()
	bits := prefix.Addr().BitLen() - prefix.Bits()
	if bits > 20 || 1<<bits > *left {
		return nil, fmt.Errorf("%s: the networks have more than %d addresses together", text, cli.MaxAddresses)
	}
	*left -= 1 << bits
	all := make([]string, 0, 1<<bits)
	for a := prefix.Addr(); a.IsValid() && prefix.Contains(a); a = a.Next() {
		all = append(all, a.String())
	}
	return all, nil
}

// allowed says whether a URL may be contacted; the engine asks before each request.
func (a *aims) allowed(u *url.URL) bool { return !a.excluded.Has(u.Hostname(), u.Port()) }

// excludes says whether a target is excluded. One that cannot be read is not: the scan says
// what is wrong with it.
func (a *aims) excludes(text string) bool {
	target, err := engine.ParseTarget(text)
	if err != nil {
		return false
	}
	u, err := url.Parse(target.URL())
	return err == nil && !a.allowed(u)
}

// localNetworks are what --restrict-local-network-access denies.
var localNetworks = []string{
	"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7", "fe80::/10",
}

// newScope is what the targets and --scope name, less what is denied.
func (f *scanFlags) newScope(named []string) (*netguard.Scope, error) {
	var all []netguard.Target
	for _, text := range slices.Concat(named, f.scope) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			if e, ok := errors.AsType[*errs.Error](err); ok {
				return nil, cli.Usage(fmt.Errorf("%q: %s", cli.Printable(text), e.Message))
			}
			return nil, cli.Usage(err)
		}
		all = append(all, target)
	}
	var limits netguard.Limits
	deny := slices.Clone(f.deny)
	if f.noLocal {
		deny = append(deny, localNetworks...)
	}
	for _, text := range deny {
		p, err := netguard.ParsePrefix(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--deny-targets %q: %w", text, err))
		}
		limits.Deny = append(limits.Deny, p)
	}
	return netguard.NewScope(all, limits)
}
