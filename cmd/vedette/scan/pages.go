package scan

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// pageFlags are the flags of templates that drive a browser.
type pageFlags struct {
	path    string
	pages   int
	timeout int // seconds
}

func (f *pageFlags) options() []option {
	return []option{
		{"browser", "path of the Chromium to use (default: the one that is installed)", text(&f.path, "file")},
		{"page-timeout", "seconds that one page may take (default 20)", number(&f.timeout, 1)},
		{"headless-concurrency,headc", "parallel pages (default 8)", number(&f.pages, 1)},
	}
}

// open has templates visit targets with a browser, which starts with the first page. Close what open returns. That no
// browser is installed is said once; such templates are skipped then.
func (f *pageFlags) open(c *engine.Config, chosen *templates.Selection, stderr io.Writer) *browser.Pool {
	if slices.ContainsFunc(chosen.Programs, (*program.Program).UsesBrowser) {
		if _, err := browser.Find(f.path); err != nil {
			fmt.Fprintf(stderr, "templates that drive a browser are skipped: %v\n", err)
		}
	}
	pool := browser.New(browser.Config{Path: f.path, Pages: f.pages, Nobody: !c.Pages.AnyFolder})
	c.Pages.Open, c.Pages.Timeout = pool.Open, time.Duration(f.timeout)*time.Second
	return pool
}
