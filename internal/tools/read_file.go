package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

// Attached are the files that a task may read.
type Attached struct {
	Files []file.File
	Store *file.Files
}

type fileArgs struct {
	Key    string `json:"key"`
	Offset int64  `json:"offset"`
	Length int    `json:"length"`
}

const maxPart = 32 << 10 // bytes of one call

func (k *Kit) readFile() action[fileArgs] {
	return action[fileArgs]{
		name: "read_file", passive: true, repeatable: true,
		schema: `{"type": "object", "required": ["key"], "properties": {"key": {"type": "string", "description": "of an attached file"},
			"offset": {"type": "integer", "minimum": 0, "description": "the byte to begin at; 0 when absent"},
			"length": {"type": "integer", "minimum": 1, "maximum": 32768, "description": "bytes; 32768 when absent"}}}`,
		call: func(_ context.Context, a fileArgs, _ func(string)) (loop.Result, error) {
			i := slices.IndexFunc(k.Attached.Files, func(f file.File) bool { return f.Key == a.Key })
			if i < 0 {
				return loop.Result{}, errors.New("no file with this key is attached to this task")
			}
			text, err := k.Attached.part(k.Attached.Files[i], a.Offset, a.Length)
			return loop.Result{Text: text, Evidence: []string{fmt.Sprintf("file %s %d", a.Key, a.Offset)}}, err
		},
	}
}

// part is a part of a file, with its position.
func (at Attached) part(f file.File, offset int64, length int) (string, error) {
	if length <= 0 || length > maxPart {
		length = maxPart
	}
	if offset < 0 || offset > f.Size {
		return "", fmt.Errorf("the file has %d bytes", f.Size)
	}
	data, err := at.Store.Read(f, offset, length)
	if err != nil {
		return "", fmt.Errorf("the file cannot be read: %s", brief.Reason(err))
	}
	if !brief.IsText(data) {
		return "", fmt.Errorf("the file is no text: %s, %d bytes", f.MIME, f.Size)
	}
	end := offset + int64(len(data))
	words := fmt.Sprintf("%s, bytes %d to %d of %d", f.Key, offset, end, f.Size)
	if end < f.Size {
		words += fmt.Sprintf("; go on with offset %d", end)
	}
	return words + "\n" + string(data), nil
}

// Previews are the beginnings of the attached files for the first prompt, the shorter the more files there are.
func (at Attached) Previews() (out []loop.Attachment) {
	for _, f := range at.Files {
		text, err := at.part(f, 0, max(256, min(4<<10, maxPart/len(at.Files))))
		if err != nil {
			text = err.Error()
		}
		out = append(out, loop.Attachment{Name: f.Key, Text: text})
	}
	return out
}
