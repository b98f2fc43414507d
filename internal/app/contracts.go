package app

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/api/rest/docs"
)

// contracts are the OpenAPI documents of both APIs and the pages that show them.
type contracts struct {
	documents map[string][]byte // by path
	pages     http.Handler
}

// mountContracts serves the contracts. They are written out for the first who asks, because that takes longer than all
// the rest of a start.
func (a *App) mountContracts(mux *http.ServeMux, agent, plat *rest.API) {
	agent.Complete()
	plat.Complete()
	written := sync.OnceValues(func() (*contracts, error) { return writeContracts(agent, plat) })
	serve := func(show func(c *contracts, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, err := written()
			if err != nil { // the same in every process of this version: a test reads them all
				a.logger.Error("the contracts cannot be shown", "error", err)
				http.Error(w, "The contracts cannot be shown.", http.StatusInternalServerError)
				return
			}
			show(c, w, r)
		}
	}
	for _, base := range []string{agentContract, platformContract} {
		for ending, media := range map[string]string{".json": "application/json", ".yaml": "application/yaml"} {
			mux.HandleFunc("GET "+base+ending, serve(func(c *contracts, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", media)
				_, _ = w.Write(c.documents[base+ending]) // the client may have disconnected
			}))
		}
	}
	mux.HandleFunc("GET /docs", serve(func(c *contracts, w http.ResponseWriter, r *http.Request) { c.pages.ServeHTTP(w, r) }))
}

// Paths of the contracts, without .json and .yaml.
const (
	agentContract    = "/api/openapi"
	platformContract = "/v1/openapi"
)

func writeContracts(agent, plat *rest.API) (*contracts, error) {
	c := &contracts{documents: map[string][]byte{}}
	var specs []docs.Spec
	for _, surface := range []struct {
		path string
		api  *rest.API
	}{{agentContract, agent}, {platformContract, plat}} {
		asJSON, err := surface.api.ContractJSON()
		if err != nil {
			return nil, fmt.Errorf("%s as JSON: %w", surface.path, err)
		}
		asYAML, err := surface.api.Contract()
		if err != nil {
			return nil, fmt.Errorf("%s as YAML: %w", surface.path, err)
		}
		c.documents[surface.path+".json"], c.documents[surface.path+".yaml"] = asJSON, asYAML
		specs = append(specs, docs.Spec{Name: surface.api.Name, URL: surface.path + ".json", JSON: asJSON})
	}
	var err error
	if c.pages, err = docs.Handler("Vedette", specs...); err != nil {
		return nil, err
	}
	return c, nil
}
