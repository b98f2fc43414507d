package toolkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/provision"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Packages are installed by npm or pip, into a folder of package provision for each toolkit and each set of
// dependencies: when that is asked for, and where they are not there yet when a tool is tested or a task begins. Tools
// see the folder and cannot change it. npm runs no scripts of packages; what pip builds, it builds in the sandbox.

// Bounds of packages.
const (
	maxPackages    = 50
	maxInstalling  = 8    // installations that were asked for and that run
	maxInstallText = 2000 // characters of why one failed
)

// packagesThere is where a tool sees its packages: Python's, and JavaScript's for npm.
const packagesThere = "/packages"

// Names and versions of packages have no colon and no slash but that of a scope, so that they lead to the registry
// alone; and no spaces, which would begin an option of pip.
var (
	npmName    = regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]{0,213}$`)
	npmVersion = regexp.MustCompile(`^[0-9A-Za-z.<>=^~*|+ -]{0,100}$`)
	pipName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,100}[A-Za-z0-9])?(\[[A-Za-z0-9,._-]{1,100}\])?$`)
	pipVersion = regexp.MustCompile(`^(([<>=!~]=?=?)?[0-9][0-9A-Za-z.!*+_-]*(,[<>=!~]=?=?[0-9][0-9A-Za-z.!*+_-]*)*)?$`)
)

// checkPackages checks the names and versions of packages.
func checkPackages(language Language, all map[string]string) error {
	if len(all) > maxPackages {
		return errs.Field("dependencies", "dependencies: at most %d packages.", maxPackages)
	}
	name, version, example := npmName, npmVersion, `"^1.2.0"`
	if language == Python {
		name, version, example = pipName, pipVersion, `">=1.2,<2"`
	}
	for one, which := range all {
		if !name.MatchString(one) {
			return errs.Field("dependencies", "dependencies: %q is no name of a package.", errs.Clip(one, 100))
		}
		if len(which) > 100 || which != "*" && !version.MatchString(which) {
			return errs.Field("dependencies", "dependencies.%s: %q is no version, such as %s; addresses and files are not taken.",
				errs.Clip(one, 100), errs.Clip(which, 100), example)
		}
	}
	return nil
}

// requirements are the packages as pip reads them.
func requirements(all map[string]string) []byte {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		version := all[name]
		switch {
		case version == "*":
			version = ""
		case version != "" && version[0] >= '0' && version[0] <= '9':
			version = "==" + version
		}
		out.WriteString(name + version + "\n")
	}
	return []byte(out.String())
}

// key names the folder of a toolkit's packages.
func (k Toolkit) key() string {
	doc, _ := json.Marshal(k.Dependencies) //nolint:errchkjson // texts
	return "toolkit " + k.ID + " " + string(k.Language) + " " + string(doc)
}

// installer is the command that installs the packages of a toolkit.
func (s *Toolkits) installer(k Toolkit) isolate.Command {
	const into = "cd " + packagesThere + ` && exec "$@"`
	if k.Language == Python {
		args := []string{"/bin/sh", "-c", into, "sh", "python3", "-m", "pip", "install", "--no-input", "--no-compile",
			"--no-cache-dir", "--disable-pip-version-check", "--retries", "1", "--target", packagesThere, "-r",
			isolate.Files + "/requirements.txt"}
		if s.PipIndex != "" {
			args = append(args, "--index-url", s.PipIndex)
		}
		return isolate.Command{Args: args, Files: map[string][]byte{"requirements.txt": requirements(k.Dependencies)}}
	}
	doc, _ := json.Marshal(map[string]any{"private": true, "dependencies": k.Dependencies}) //nolint:errchkjson // texts
	args := []string{"/bin/sh", "-c", "cp " + isolate.Files + "/package.json " + packagesThere + " && " + into, "sh",
		"npm", "install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-package-lock",
		"--no-update-notifier", "--fetch-retries=1", "--cache", isolate.Work + "/cache"}
	if s.NPMRegistry != "" {
		args = append(args, "--registry", s.NPMRegistry)
	}
	return isolate.Command{Args: args, Files: map[string][]byte{"package.json": doc}}
}

// packages is the folder of a toolkit's packages, which are installed where they are not yet; "" when it has none.
// Conflict says why they cannot be.
func (s *Toolkits) packages(ctx context.Context, k Toolkit) (folder string, release func(), err error) {
	if len(k.Dependencies) == 0 {
		return "", func() {}, nil
	}
	return s.Folders.Hold(ctx, k.key(), func(ctx context.Context, w *provision.Work) error {
		if err := s.setStatus(ctx, k, Installing, ""); err != nil {
			return err
		}
		status, fault := Installed, ""
		err := s.install(ctx, k, w)
		if err != nil {
			status, fault = Failed, errs.Clip(errs.From(err).Message, maxInstallText)
			if errs.Is(err, errs.Internal) {
				fault = interrupted
			}
		}
		return errors.Join(err, s.setStatus(context.WithoutCancel(ctx), k, status, fault))
	})
}

const interrupted = "The installation of packages was interrupted. Install them again."

func (s *Toolkits) install(ctx context.Context, k Toolkit, w *provision.Work) error {
	failed := func(how string) error {
		message := "The packages (dependencies) could not be installed: " + how + "." + s.Folders.NetworkNote()
		tail := w.Tail(func(text string) string { return text })
		return errs.New(errs.Conflict, "installation_failed", "%s", strings.TrimSpace(message+"\n"+tail))
	}
	got, err := w.Install(ctx, s.installer(k), packagesThere)
	switch {
	case provision.IsLimit(err):
		return failed("it was ended: " + err.Error())
	case err != nil:
		return err
	case got.Code == isolate.NoProgram:
		return failed("npm is not installed here")
	case got.Code != 0:
		return failed(fmt.Sprintf("the program ended with the code %d", got.Code))
	}
	return nil
}

func (s *Toolkits) setStatus(ctx context.Context, k Toolkit, status Status, fault string) error {
	_, err := s.db.Exec(ctx, `UPDATE toolkit SET status = ?, fault = ?, status_at = ? WHERE id = ? AND dependencies = ?`,
		status, db.Clean(fault), db.At(s.Now()), k.ID, db.Doc(k.Dependencies))
	return err
}

// begin installs the packages of a toolkit while others go on; it returns the status that the toolkit has until then.
func (s *Toolkits) begin(ctx context.Context, k Toolkit) (Status, string, error) {
	status, fault := s.status(ctx, k)
	switch {
	case status != NotStarted:
		return status, fault, nil
	case s.Folders.Has(k.key()):
		return Installed, "", nil
	case s.Folders.Busy(k.key()):
		return Installing, "", nil
	}
	select {
	case s.installing <- struct{}{}:
	default:
		return "", "", errs.New(errs.Unavailable, "too_many_installations",
			"%d installations run already; try again later.", maxInstalling)
	}
	if err := s.setStatus(ctx, k, Installing, ""); err != nil {
		<-s.installing
		return "", "", err
	}
	s.background.Go(func() {
		defer func() { <-s.installing }()
		// How it went is in the status of the toolkit.
		if _, release, err := s.packages(s.running, k); err == nil {
			release()
		}
	})
	return Installing, "", nil
}

// ready fails where a tool cannot be tested yet, and has its packages installed meanwhile. Conflict says so, or why
// they could not be installed.
func (s *Toolkits) ready(ctx context.Context, k Toolkit) error {
	switch {
	case len(k.Dependencies) == 0, s.Folders.Has(k.key()):
		return nil
	case k.Status == Failed:
		return errs.New(errs.Conflict, "installation_failed", "%s", k.Fault)
	}
	status, fault, err := s.begin(ctx, k)
	switch {
	case err != nil || status == Installed:
		return err
	case status == Failed:
		return errs.New(errs.Unavailable, "tools_not_available", "%s.", fault)
	}
	return errs.New(errs.Conflict, "packages_not_installed",
		"The packages of the toolkit %s are being installed. Try again when its installation_status is installed.", k.ToolkitID)
}

// Close ends the installations that run.
func (s *Toolkits) Close() {
	s.end()
	s.background.Wait()
}

// aged says that an installation which takes longer than one may was interrupted.
func (k *Toolkit) aged(now time.Time) {
	if k.Status == Installing && now.Sub(k.StatusAt) > provision.MostTime+time.Minute {
		k.Status, k.Fault = Failed, interrupted
	}
}

// folders are those that a tool of a language sees its packages in.
func (l Language) folders(packages string) map[string]string {
	switch {
	case packages == "":
		return nil
	case l == Python:
		return map[string]string{packagesThere: packages}
	default: // where Node.js looks for what a module in /tool imports
		return map[string]string{"/node_modules": packages + "/node_modules"}
	}
}

// status is whether tools of a toolkit can be run here: NotStarted when packages are to be installed first.
func (s *Toolkits) status(ctx context.Context, k Toolkit) (Status, string) {
	if err := s.usable(ctx, k.Language); err != nil {
		return Failed, errs.Clip(err.Error(), 300)
	}
	if len(k.Dependencies) == 0 {
		return Installed, ""
	}
	if k.Language != Python {
		if _, err := sandbox.LookPath("npm"); err != nil {
			return Failed, "npm, which installs packages, is not installed here"
		}
	}
	return NotStarted, ""
}
