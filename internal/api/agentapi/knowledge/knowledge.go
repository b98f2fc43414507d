// Package knowledge serves the area Knowledge of the agent-task API: texts, files, pages and repositories that people
// and their tasks search.
package knowledge

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
)

// Request is the body of POST /api/v1/knowledge/index.
type Request struct {
	Name     string   `json:"name,omitempty" maxLength:"200" doc:"What to call the source; with one source alone. Default: the first line of content, the key or the URL."`
	Content  string   `json:"content,omitempty" maxLength:"1048576" doc:"A text."`
	URLs     []string `json:"urls,omitempty" maxItems:"20" doc:"https or http URLs of pages or texts; each is a source."`
	FileKeys []string `json:"file_keys,omitempty" maxItems:"20" doc:"Keys of files that you have uploaded, or that a project has which you see: texts, Markdown and HTML of at most 4 MiB; each is a source."`
	GitURL   string   `json:"git_url,omitempty" maxLength:"2048" doc:"The https or http URL of a git remote, whose text files are read."`
	Ref      string   `json:"ref,omitempty" maxLength:"200" doc:"A branch, tag or commit of git_url; default: its HEAD."`
	Shared   bool     `json:"shared,omitempty" doc:"In the team's base, for all its members and their tasks; else in your own. Only an admin of the team may set it."`
}

func (r Request) sources() knowledge.New {
	return knowledge.New{
		Name: r.Name, Content: r.Content, URLs: r.URLs, FileKeys: r.FileKeys, GitURL: r.GitURL, Ref: r.Ref,
		Shared: r.Shared,
	}
}

// Source is something that is searched.
type Source struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Kind      string     `json:"kind" enum:"text,file,url,git" doc:"What it is read from."`
	URL       string     `json:"url"`
	FileKey   string     `json:"file_key" doc:"The key of the file."`
	Ref       string     `json:"ref" doc:"The branch, tag or commit of a git remote that was asked for."`
	Revision  string     `json:"revision" doc:"The commit of a git remote that was read."`
	Shared    bool       `json:"shared" doc:"It is in the team's base; else in your own."`
	Status    string     `json:"status" enum:"waiting,ready,failed" doc:"waiting: it is being indexed, or will be. ready: searches see what was read last. failed: error says why; what was indexed before is still searched."`
	Error     string     `json:"error" doc:"Why it could not be indexed."`
	Bytes     int64      `json:"bytes" doc:"Of its text."`
	Chunks    int        `json:"chunks" doc:"The parts that searches find."`
	CreatedAt time.Time  `json:"created_at"`
	IndexedAt *time.Time `json:"indexed_at" doc:"When it was indexed last; null: never."`
}

func doc(s knowledge.Source) Source {
	return Source{
		s.ID, s.Name, string(s.Kind), s.URL, s.FileKey, s.Ref, s.Revision, s.Shared, string(s.State), s.Error, s.Bytes,
		s.Chunks, s.CreatedAt, rest.OrNull(s.IndexedAt),
	}
}

// List is sources.
type List struct {
	Sources []Source `json:"sources" doc:"The newest first."`
	Total   int      `json:"total"`
}

// SearchRequest is the body of POST /api/v1/knowledge/search.
type SearchRequest struct {
	Query    string `json:"query" minLength:"1" maxLength:"1000" doc:"A question, or words."`
	SourceID string `json:"source_id,omitempty" maxLength:"100" doc:"Only in this source."`
	Limit    int    `json:"limit,omitempty" minimum:"1" maximum:"50" default:"10" doc:"How many results at most."`
}

// Result is a part of a source.
type Result struct {
	SourceID string `json:"source_id" doc:"The source."`
	Source   string `json:"source" doc:"The source's name."`
	URL      string `json:"url"`
	Revision string `json:"revision" doc:"The commit of a git remote."`
	Place    string `json:"place" doc:"The file or the page."`
	Line     int    `json:"line" doc:"The first line of the text there."`
	Text     string `json:"text" doc:"The text."`

	FoundBy []string `json:"found_by" enum:"words,vectors" doc:"What found it: words of the query, a vector near to the query's, or both."`
}

// Found is what a search found.
type Found struct {
	Results []Result `json:"results" doc:"The best first."`
	Total   int      `json:"total"`
	Mode    string   `json:"mode" enum:"full_text,hybrid" doc:"full_text: texts that have the words of the query, ranked by how rare these are. hybrid: also texts whose vectors are near to the query's; each text has 1/(60+rank) of both rankings."`
	Vectors Vectors  `json:"vectors" doc:"Whether texts were also compared by meaning, with vectors of an embedding model."`
}

// Vectors says what part vectors had in a search.
type Vectors struct {
	Used    bool   `json:"used" doc:"They were compared, as far as there are some."`
	Status  string `json:"status" enum:"used,indexing,no_model,failed,too_many" doc:"used: all were. indexing: the vectors are being made. no_model: neither your team's keys nor the server have an embedding model. failed: message says why. too_many: more texts than one search compares. In all but used, texts without a vector are found by words alone."`
	Message string `json:"message" doc:"For people: why vectors were not, or not all, used; empty: they were."`
	Model   string `json:"model" doc:"The embedding model; empty: none."`
	Indexed int    `json:"indexed" doc:"The chunks with a vector that were compared."`
	Chunks  int    `json:"chunks" doc:"The chunks that the search sees."`
}

func vectors(v knowledge.Vectors) Vectors {
	return Vectors{v.Used, string(v.State), v.Message(), v.Model, v.Indexed, v.Chunks}
}

func found(f knowledge.Found) *Found {
	mode := "full_text"
	if f.Vectors.Used {
		mode = "hybrid"
	}
	return &Found{rest.Each(f.Hits, func(h knowledge.Hit) Result {
		return Result{h.SourceID, h.Source, h.URL, h.Revision, h.Place, h.Line, h.Text, h.FoundBy()}
	}), len(f.Hits), mode, vectors(f.Vectors)}
}

// Path names a source.
type Path struct {
	ID string `path:"source_id" doc:"The source's id."`
}

// Area is the area with the service that it calls.
type Area struct {
	*rest.API
	Knowledge *knowledge.Knowledge
}

const (
	all = "/api/v1/knowledge"
	one = all + "/sources/{source_id}"
	tag = "Knowledge"
)

// Register adds the operations.
func (a Area) Register() {
	index := rest.NewOp("index-knowledge", "POST "+all+"/index", tag, "Add texts, files, pages or a repository to a knowledge base", 409)
	index.DefaultStatus = http.StatusAccepted
	index.Description = "They are indexed in the background. Private and local addresses are refused, unless the operator allows their " +
		"networks; nothing is fetched with credentials. Tasks search them with the tool search_knowledge."
	rest.Handle(a.API, index, func(ctx context.Context, in *struct{ Body Request }) (*List, error) {
		added, err := a.Knowledge.Add(ctx, in.Body.sources())
		return &List{rest.Each(added, doc), len(added)}, err
	})
	rest.Handle(a.API,
		rest.NewOp("search-knowledge", "POST "+all+"/search", tag, "Search your knowledge base and your team's", 404),
		func(ctx context.Context, in *struct{ Body SearchRequest }) (*Found, error) {
			hits, err := a.Knowledge.Search(ctx, in.Body.Query, in.Body.SourceID, in.Body.Limit)
			return found(hits), err
		})
	rest.Handle(a.API,
		rest.NewOp("list-knowledge-sources", "GET "+all+"/sources", tag, "List the sources that your searches see"),
		func(ctx context.Context, _ *struct{}) (*List, error) {
			found, err := a.Knowledge.FindAll(ctx)
			return &List{rest.Each(found, doc), len(found)}, err
		})
	rest.Handle(a.API, rest.NewOp("get-knowledge-source", "GET "+one, tag, "Get a source", 404),
		func(ctx context.Context, in *Path) (*Source, error) {
			s, err := a.Knowledge.Find(ctx, in.ID)
			return new(doc(s)), err
		})
	rest.Handle(a.API,
		rest.NewOp("reindex-knowledge-source", "POST "+one+"/reindex", tag, "Read a source again", 403, 404),
		func(ctx context.Context, in *Path) (*Source, error) {
			s, err := a.Knowledge.Reindex(ctx, in.ID)
			return new(doc(s)), err
		})
	signin.Act(a.API, rest.NewOp("delete-knowledge-source", "DELETE "+one, tag, "Delete a source", 403, 404),
		"The source is deleted.",
		func(ctx context.Context, in *Path) error { return a.Knowledge.Delete(ctx, in.ID) })
}
