package app

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/customagent/install"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/leak"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/prompt"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/provision"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
	"github.com/vedette-sec/vedette/internal/tools"
)

// openMail is the outbox of the server's own mails; nil when there is no mail server. The operator names that server,
// so it may be in a private network.
func (a *App) openMail() *mailer.Outbox {
	if a.config.SMTPServer == "" {
		return nil
	}
	anywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	return mailer.NewOutbox(mailer.Server{
		Guard: &netguard.Guard{Allow: anywhere}, Address: a.config.SMTPServer, Username: a.config.SMTPUsername,
		Password: a.config.SMTPPassword, Insecure: a.config.SMTPSecurity == "none",
	}, a.config.SMTPFrom, a.logger)
}

// SetupLink is the one-time link to create the first user; empty when there are users.
func (a *App) SetupLink(ctx context.Context, base string) (string, error) {
	token, err := a.Accounts.SetupToken(ctx)
	if err != nil || token == "" {
		return "", err
	}
	if a.config.PublicURL != "" {
		base = a.config.PublicURL
	}
	return strings.TrimRight(base, "/") + "/setup?token=" + token, nil
}

// SetLimits sets what an operator allows a team, in the configured database.
func SetLimits(ctx context.Context, c Config, team string, change membership.Change) (membership.Limits, error) {
	d, err := c.openDB(ctx, false)
	if err != nil {
		return membership.Limits{}, err
	}
	defer d.Close()
	return membership.New(d, nil, nil, "").SetLimits(ctx, team, change)
}

// library are the services of what agents work with.
type library struct {
	reserved  []string // names of tools that every task has
	toolkits  *toolkit.Toolkits
	folders   *provision.Folders // of what programs of people install
	installs  *install.Installs  // of agents
	leaks     *leak.Leaks
	skills    *skill.Skills
	prompts   *prompt.Prompts
	network   *network.Events
	knowledge *knowledge.Knowledge
}

// openNetwork opens the service of captured requests.
func (a *App) openNetwork(box *seal.Box) {
	a.network = network.New(a.db, a.queue, network.Sources{
		Tasks: a.Tasks, Scans: a.Scans, Secrets: a.secrets, Exports: a.exports, Box: box, Logger: a.logger,
	})
}

// openExtensions opens the services of users' own tools, skills and prompts, and that of leaks.
func (a *App) openExtensions(box *seal.Box, guard *netguard.Guard, deny []netip.Prefix) error {
	var err error
	if a.reserved, err = tools.Reserved(); err != nil {
		return err
	}
	a.extensions = extension.New(a.db, box, extension.Config{Guard: guard, Secrets: a.secrets, Reserved: a.reserved,
		PublicURL: strings.TrimSuffix(a.config.PublicURL, "/")})
	if a.folders, err = provision.New(a.config.InstallHosts, deny); err != nil {
		return fmt.Errorf("install_hosts: %w", err)
	}
	a.toolkits = toolkit.New(a.db, toolkit.Config{
		Secrets: a.secrets, Exclusions: exclusion.New(a.db), Reserved: a.reserved, Deny: deny,
		Folders: a.folders, NPMRegistry: a.config.NPMRegistry, PipIndex: a.config.PipIndex,
	})
	a.leaks = leak.New(a.db, box)
	a.skills, a.prompts = skill.New(a.db, guard), prompt.New(a.db)
	return nil
}

// closeTools ends what programs of people still do, and removes what was installed for them.
func (a *App) closeTools() error {
	if a.toolkits == nil {
		return nil
	}
	a.toolkits.Close()
	return a.folders.Close()
}

// openAgents opens the service of custom agents, which may have the named tools, and that of their programs.
func (a *App) openAgents(names []string) {
	a.agents = customagent.New(a.db, names, a.reserved...)
	a.installs = install.New(install.Config{Agents: a.agents, Secrets: a.secrets, Folders: a.folders})
}

// WithLeaks runs fn with only the breach lists of the configured database open.
func WithLeaks(ctx context.Context, c Config, fn func(*leak.Leaks) error) error {
	d, err := c.openDB(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	box, err := c.openBox()
	if err != nil {
		return err
	}
	return fn(leak.New(d, box))
}

// openSigners opens the service of the keys whose templates may run programs.
func (a *App) openSigners() error {
	var trusted [][]byte
	for _, name := range a.config.Certificates {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("template_certificates: %w", err)
		}
		trusted = append(trusted, text)
	}
	signers, err := signer.New(a.db, signer.Config{Allowed: a.config.Code, Certificates: trusted})
	if err != nil {
		return fmt.Errorf("template_certificates: %w", err)
	}
	a.Scans.Signers = signers
	return nil
}

// openFiles opens the store of uploaded files, and the knowledge bases, which read them.
func (a *App) openFiles(guard *netguard.Guard) error {
	own, err := blob.Open(filepath.Join(a.config.DataDir, "files"))
	if err != nil {
		return err
	}
	a.files = file.New(a.db, own)
	a.knowledge = knowledge.NewService(a.db, a.queue, a.files, guard, a.Models, a.secrets)
	return nil
}
