// Package original runs single templates with nuclei's own code in this process, so that nuclei starts
// only once for thousands of templates.
package original

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/logrusorgru/aurora/v4"
	"github.com/projectdiscovery/goflags"
	"github.com/projectdiscovery/gologger"
	"github.com/projectdiscovery/gologger/levels"
	nuclei "github.com/projectdiscovery/nuclei/v3/lib"
	"github.com/projectdiscovery/nuclei/v3/pkg/catalog/config"
	"github.com/projectdiscovery/nuclei/v3/pkg/output"
	"github.com/projectdiscovery/nuclei/v3/pkg/protocols/common/contextargs"
	"github.com/projectdiscovery/nuclei/v3/pkg/scan"
	"github.com/projectdiscovery/nuclei/v3/pkg/templates"
	"github.com/projectdiscovery/nuclei/v3/pkg/types"

	"github.com/vedette-sec/vedette/oracle/event"
)

// Engine is an initialised nuclei.
type Engine struct {
	engine *nuclei.NucleiEngine
	sink   *sink
}

// New initialises nuclei for templates below folder, without out-of-band server, update check and
// memory of failing hosts.
func New(ctx context.Context, folder string) (*Engine, error) {
	gologger.DefaultLogger.SetMaxLevel(levels.LevelSilent)
	config.DefaultConfig.SetTemplatesDir(folder)
	options := types.DefaultOptions()
	options.Timeout = 10
	options.Retries = 1
	options.NoHostErrors = true
	options.PayloadConcurrency = 1 // else it is chance which payload comes first
	options.RateLimit = math.MaxInt32
	options.DisableRedirects = false
	options.OmitTemplate = true
	options.Silent = true
	options.NoInteractsh = true
	options.Logger = gologger.DefaultLogger
	s := &sink{events: map[string]event.Set{}}
	e, err := nuclei.NewNucleiEngineCtx(ctx, nuclei.WithOptions(options), nuclei.DisableUpdateCheck(),
		nuclei.WithInteractshOptions(nuclei.InteractshOpts{CacheSize: 5000, NoInteractsh: true, StopAtFirstMatch: false}))
	if err != nil {
		return nil, err
	}
	return &Engine{engine: e, sink: s}, nil
}

// Template is a template as nuclei compiled it.
type Template struct{ *templates.Template }

// Load parses one template file; vars are those of the command line, as name=value. A
// template that nuclei would not run is an error.
func (e *Engine) Load(path string, vars []string) (Template, error) {
	options := e.engine.GetExecuterOptions().Copy()
	own := options.Options.Copy()
	own.Vars = goflags.RuntimeMap{}
	for _, v := range vars {
		if err := own.Vars.Set(v); err != nil {
			return Template{}, err
		}
	}
	options.Options = own
	options.DoNotCache = true
	options.Output = e.sink
	t, err := templates.Parse(path, nil, options)
	if err != nil {
		return Template{}, err
	}
	if t == nil || t.Executer == nil {
		return Template{}, fmt.Errorf("nuclei makes nothing of it")
	}
	return Template{t}, nil
}

// Run executes the template on one target.
func (e *Engine) Run(ctx context.Context, t Template, target string) (event.Set, error) {
	input := contextargs.NewMetaInput()
	input.Input = target
	arguments := contextargs.New(ctx)
	arguments.MetaInput = input
	e.sink.open(t.Path, target)
	_, err := t.Executer.Execute(scan.NewScanContext(ctx, arguments))
	return e.sink.take(t.Path, target), err
}

type sink struct {
	mu     sync.Mutex
	events map[string]event.Set // by template and target
}

func (s *sink) open(path, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[path+" "+target] = event.Set{}
}

func (s *sink) take(path, target string) event.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.events[path+" "+target]
	delete(s.events, path+" "+target)
	return set
}

// Write stores one result.
func (s *sink) Write(r *output.ResultEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.events[r.TemplatePath+" http://"+net.JoinHostPort(r.Host, r.Port)+"/"]
	if set == nil {
		return fmt.Errorf("a result without a run: %s on %s", r.TemplatePath, r.URL)
	}
	set.Add(event.Event{
		Template: r.TemplateID, Matcher: r.MatcherName, Extractor: r.ExtractorName, Extracted: r.ExtractedResults,
		At: r.Matched, Host: r.Host, Port: r.Port, Path: r.TemplatePath,
	})
	return nil
}

func (s *sink) Close()                                             {}
func (s *sink) Colorizer() *aurora.Aurora                          { return aurora.New() }
func (s *sink) WriteFailure(*output.InternalWrappedEvent) error    { return nil }
func (s *sink) Request(string, string, string, error)              {}
func (s *sink) RequestStatsLog(string, string)                     {}
func (s *sink) WriteStoreDebugData(string, string, string, string) {}
func (s *sink) ResultCount() int                                   { return 0 }
