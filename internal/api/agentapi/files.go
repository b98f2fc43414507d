package agentapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/file"
)

// FileDoc is a file in an answer.
type FileDoc struct {
	Key          string    `json:"key" doc:"Its key, also in file_keys of a task."`
	BaseName     string    `json:"base_name" doc:"The last part of the key."`
	FileName     string    `json:"file_name" doc:"As base_name."`
	Ext          string    `json:"ext" doc:"In lower case, without the dot."`
	MIME         string    `json:"mime" doc:"Detected from the content. It is always served as application/octet-stream."`
	Size         int64     `json:"size" doc:"In bytes."`
	ETag         string    `json:"etag" doc:"SHA-256 of the content, in hexadecimal."`
	LastModified time.Time `json:"last_modified" doc:"Last upload."`
	ChatID       string    `json:"chat_id,omitempty" doc:"As in the request."`
	ProjectID    string    `json:"project_id,omitempty"`
	DownloadURL  string    `json:"download_url,omitempty" doc:"Path to download it with the same credentials; with include_url."`
	FileURL      string    `json:"file_url,omitempty" doc:"As download_url."`
}

// FileList is a page of files.
type FileList struct {
	Items      []FileDoc `json:"items" doc:"The page."`
	NextCursor string    `json:"next_cursor,omitempty"`
	Total      *int      `json:"total,omitempty"`
	Error      string    `json:"error" doc:"Always empty: what cannot be listed is refused with an error."`
}

// FileKey names a file.
type FileKey struct {
	Key string `query:"key" required:"true" minLength:"1" maxLength:"512" doc:"The file's key: names between slashes, such as specs/api.yaml."`
}

const filesPath = "/api/v1/files"

func fileDoc(f file.File, withURL bool) FileDoc {
	doc := FileDoc{
		Key: f.Key, BaseName: f.BaseName, FileName: f.BaseName, Ext: f.Ext, MIME: f.MIME, Size: f.Size, ETag: f.ETag,
		LastModified: f.LastModified, ChatID: f.ChatID, ProjectID: f.ProjectID,
	}
	if withURL {
		doc.DownloadURL = filesPath + "/download?" + url.Values{"key": {f.Key}}.Encode()
		doc.FileURL = doc.DownloadURL
	}
	return doc
}

func (s surface) files() {
	const tag = "Files"
	rest.Handle(s.API, op("list-files", "GET "+filesPath, tag, "List your files"), s.listFiles)

	upload := op("upload-file", "POST "+filesPath, tag, "Store a file for your tasks")
	upload.DefaultStatus, upload.Errors, upload.Stream = http.StatusCreated, []int{409}, true
	upload.Description = "The body is the file as it is, at most 32 MiB. A task that names its key in file_keys can read it."
	rest.Handle(s.API, upload, func(ctx context.Context, in *struct {
		FileKey
		rest.Stream
		ProjectID string `query:"project_id" format:"uuid" doc:"Its project."`
		ChatID    string `query:"chat_id" maxLength:"128" doc:"Its task; stored and shown."`
	}) (*FileDoc, error) {
		made, err := s.Files.Create(ctx,
			file.NewFile{Key: in.Key, ProjectID: strings.ToLower(in.ProjectID), ChatID: in.ChatID, Content: &in.Stream})
		aboutFile(ctx, made.Key)
		return new(fileDoc(made, true)), err
	})

	replace := op("replace-file", "PUT "+filesPath, tag, "Replace a file's content")
	replace.Errors, replace.Stream = []int{404, 409}, true
	rest.Handle(s.API, replace, func(ctx context.Context, in *struct {
		FileKey
		rest.Stream
	}) (*FileDoc, error) {
		changed, err := s.Files.Replace(ctx, in.Key, &in.Stream)
		aboutFile(ctx, in.Key)
		return new(fileDoc(changed, true)), err
	})

	get := op("download-file", "GET "+filesPath+"/download", tag, "A file's content", 404)
	get.Description = "Always as an attachment of type application/octet-stream, so that no browser runs it."
	get.Responses = map[string]*huma.Response{"200": {Description: "The content.", Content: map[string]*huma.MediaType{
		"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
	}}}
	rest.Register(s.API, get, s.downloadFile)

	rest.Handle(s.API, op("delete-file", "DELETE "+filesPath, tag, "Delete a file", 404),
		func(ctx context.Context, in *FileKey) (*message, error) {
			aboutFile(ctx, in.Key)
			return &message{Message: "The file is deleted."}, s.Files.Delete(ctx, in.Key)
		})
}

// aboutFile names a file in the audit log by a digest, the same for each change of it: colleagues read the log, and the
// keys of files are their owner's.
func aboutFile(ctx context.Context, key string) {
	c, _ := account.From(ctx) // without a caller, there is no file
	sum := sha256.Sum256([]byte(c.UserID + "\x00" + key))
	rest.About(ctx, "file-"+hex.EncodeToString(sum[:8]))
}

func (s surface) listFiles(ctx context.Context, in *struct {
	PageSize     int    `query:"page_size" minimum:"1" maximum:"10000" default:"50" doc:"How many to return."`
	Cursor       string `query:"cursor" maxLength:"2048" doc:"next_cursor of the page before."`
	Directory    string `query:"directory" maxLength:"512" doc:"Only those in this directory, and below."`
	Search       string `query:"search" maxLength:"512" doc:"Only those with this text in their key."`
	Keys         string `query:"keys" maxLength:"65536" doc:"Only those with these keys, separated by commas."`
	Types        string `query:"types" maxLength:"1024" doc:"Only those with these extensions, separated by commas."`
	IncludeURL   bool   `query:"include_url" doc:"Whether to return download paths."`
	ChatID       string `query:"chat_id" maxLength:"128" doc:"Only those of this task."`
	IncludeTotal bool   `query:"include_total" doc:"Whether to count them."`
	SortBy       string `query:"sort_by" enum:"last_modified,base_name,size,key" default:"last_modified" doc:"Sort field."`
	Order        string `query:"order" enum:"asc,desc" default:"desc" doc:"Sort order."`
	ProjectID    string `query:"project_id" format:"uuid" doc:"Only those of this project."`
}) (*FileList, error) {
	found, err := s.Files.FindAll(ctx, file.Filter{
		Directory: in.Directory, Search: in.Search, Keys: parts(in.Keys, ""), Exts: parts(strings.ToLower(in.Types), "."),
		ProjectID: strings.ToLower(in.ProjectID), ChatID: in.ChatID,
		SortBy: in.SortBy, Desc: in.Order == "desc", Cursor: in.Cursor, Limit: in.PageSize,
	})
	list := FileList{NextCursor: found.Next,
		Items: rest.Each(found.Files, func(f file.File) FileDoc { return fileDoc(f, in.IncludeURL) })}
	if in.IncludeTotal {
		list.Total = &found.Total
	}
	return &list, err
}

// parts splits a list separated by commas, and removes an optional prefix of its items.
func parts(list, prefix string) (out []string) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimPrefix(strings.TrimSpace(part), prefix); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (s surface) downloadFile(ctx context.Context, in *FileKey) (*huma.StreamResponse, error) {
	f, content, err := s.Files.Open(ctx, in.Key)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		defer content.Close()
		for name, value := range map[string]string{
			"Content-Type":        "application/octet-stream",
			"Content-Disposition": mime.FormatMediaType("attachment", map[string]string{"filename": f.BaseName}),
			"Content-Length":      strconv.FormatInt(f.Size, 10), "ETag": `"` + f.ETag + `"`,
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, no-store",
		} {
			out.SetHeader(name, value)
		}
		// The client may have disconnected; Content-Length shows an incomplete body.
		_, _ = io.Copy(out.BodyWriter(), content)
	}}, nil
}
