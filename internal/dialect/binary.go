package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// Binary is a JSON string in a frame or body that holds bytes, not text: an
// image, a document, a sound. Views show what it says of itself, never the
// bytes.
type Binary struct {
	Span             // raw[Start:End] is the string token
	MediaType string // "image/png", or a word such as "image" where nothing better is said
	Name      string // of the file, may be empty
	Size      int64  // in bytes, once decoded
}

// String returns what stands in its place: "image/png, cat.png, 12 kB".
func (b Binary) String() string {
	parts := []string{b.MediaType, b.Name, byteSize(b.Size)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func byteSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Binaries returns the binary strings of a JSON value, in order: data URLs, and
// base64 beside a media type or in a content part that says it is one (OpenAI,
// Anthropic, Gemini, MCP, ACP and others). Of what is not JSON there are none.
func Binaries(raw []byte) []Binary {
	b := binaries{raw: raw}
	end := b.value(space(raw, 0), 0, "")
	if end < 0 || space(raw, end) != len(raw) {
		return nil
	}
	slices.SortFunc(b.found, func(a, b Binary) int { return a.Start - b.Start })
	return b.found
}

// StripBinary returns a JSON value with a description in the place of each
// binary string, raw itself when there is none.
func StripBinary(raw []byte) []byte {
	found := Binaries(raw)
	if len(found) == 0 {
		return raw
	}
	out := make([]byte, 0, len(raw)/2)
	at := 0
	for _, b := range found {
		out = append(out, raw[at:b.Start]...)
		out = append(out, quote("<"+b.String()+">")...)
		at = b.End
	}
	return append(out, raw[at:]...)
}

// binaries walks a value once.
type binaries struct {
	raw   []byte
	found []Binary
}

// value looks at the value at i, a member called key, and returns its end.
func (b *binaries) value(i, depth int, key string) int {
	if i >= len(b.raw) || depth > MaxDepth {
		return -1
	}
	switch b.raw[i] {
	case '{':
		return b.object(i, depth, key)
	case '[':
		return b.array(i, depth, key)
	}
	end := skip(b.raw, i, depth)
	if end > 0 && b.raw[i] == '"' {
		if media, size, ok := dataURL(b.raw[i:end]); ok {
			b.found = append(b.found, Binary{Span: Span{i, end}, MediaType: media, Size: size})
		}
	}
	return end
}

func (b *binaries) array(i, depth int, key string) int {
	for i = space(b.raw, i+1); ; {
		if i < len(b.raw) && b.raw[i] == ']' {
			return i + 1
		}
		end := b.value(i, depth+1, key)
		if end < 0 {
			return -1
		}
		if i = space(b.raw, end); i < len(b.raw) && b.raw[i] == ',' {
			i = space(b.raw, i+1)
		} else if i >= len(b.raw) || b.raw[i] != ']' {
			return -1
		}
	}
}

// fields are the members of an object that tell whether it holds bytes.
type fields struct {
	kind, media, format, name string
	data                      Span
	dataKey                   string
}

var (
	dataKeys  = []string{"data", "blob", "file_data", "b64_json", "dataBase64", "data_base64", "base64", "bytes"}
	mediaKeys = []string{"media_type", "mimeType", "mime_type", "mediaType", "content_type"}
	nameKeys  = []string{"filename", "file_name", "fileName", "name", "title", "uri"}
)

func (b *binaries) object(i, depth int, under string) int {
	first := len(b.found)
	var f fields
	for i = space(b.raw, i+1); ; {
		if i < len(b.raw) && b.raw[i] == '}' {
			b.judge(f, under, first)
			return i + 1
		}
		end := -1
		if i < len(b.raw) && b.raw[i] == '"' {
			end = stringEnd(b.raw, i)
		}
		if end < 0 {
			return -1
		}
		key := decode(b.raw[i:end])
		if i = space(b.raw, end); i >= len(b.raw) || b.raw[i] != ':' {
			return -1
		}
		i = space(b.raw, i+1)
		if end = b.value(i, depth+1, key); end < 0 {
			return -1
		}
		if b.raw[i] == '"' {
			f.take(key, b.raw, Span{i, end})
		}
		if i = space(b.raw, end); i < len(b.raw) && b.raw[i] == ',' {
			i = space(b.raw, i+1)
		} else if i >= len(b.raw) || b.raw[i] != '}' {
			return -1
		}
	}
}

// take notes a string member. Of equal keys the first counts.
func (f *fields) take(key string, raw []byte, s Span) {
	set := func(into *string) {
		if *into == "" && s.End-s.Start < 300 {
			*into = decode(raw[s.Start:s.End])
		}
	}
	switch {
	case key == "type":
		set(&f.kind)
	case key == "format":
		set(&f.format)
	case slices.Contains(mediaKeys, key):
		set(&f.media)
	case slices.Contains(nameKeys, key):
		set(&f.name)
	case f.dataKey == "" && slices.Contains(dataKeys, key):
		f.data, f.dataKey = s, key
	}
}

// binaryKinds are the types of parts whose data is never text.
var binaryKinds = []string{"image", "document", "video", "audio", "base64", "input_image", "input_audio", "input_file", "file", "media", "resource"}

// judge decides whether an object that has been walked holds bytes. A data URL
// found directly in it gets the object's name.
func (b *binaries) judge(f fields, under string, first int) {
	for i := first; i < len(b.found); i++ {
		if b.found[i].Name == "" {
			b.found[i].Name = f.name
		}
		if b.found[i].Start == f.data.Start && f.dataKey != "" {
			return
		}
	}
	if f.dataKey == "" {
		return
	}
	token := b.raw[f.data.Start:f.data.End]
	sure := slices.Contains(binaryKinds, f.kind) || under == "input_audio" || under == "inline_data" || under == "inlineData" || under == "file" ||
		f.dataKey == "b64_json" || f.dataKey == "dataBase64" || f.dataKey == "blob"
	if !looksBase64(token, sure) || !sure && f.media == "" || strings.HasPrefix(f.media, "text/") && !sure {
		return
	}
	media := f.media
	if media == "" && f.format != "" {
		media = "audio/" + f.format
	}
	media = or(media, or(f.kind, "data"))
	b.found = append(b.found, Binary{Span: f.data, MediaType: media, Name: f.name, Size: decodedSize(token[1 : len(token)-1])})
}

// dataURL reads a data URL that holds base64.
func dataURL(token []byte) (media string, size int64, ok bool) {
	const most = 200 // of what comes before the data
	head := token[1:min(len(token), most)]
	if len(head) < 5 || string(head[:5]) != "data:" {
		return "", 0, false
	}
	comma := strings.IndexByte(share(head), ',')
	if comma < 0 {
		return "", 0, false
	}
	text := strings.ReplaceAll(string(head[5:comma]), `\/`, "/")
	media, isBase64 := strings.CutSuffix(text, ";base64")
	if !isBase64 {
		return "", 0, false
	}
	media, _, _ = strings.Cut(media, ";")
	return or(media, "data"), decodedSize(token[comma+2 : len(token)-1]), true
}

// looksBase64 judges by both ends of a string token; sure asks for less.
func looksBase64(token []byte, sure bool) bool {
	s := token[1 : len(token)-1]
	if len(s) == 0 || !sure && len(s) < 64 {
		return false
	}
	for _, end := range [][]byte{s[:min(len(s), 256)], s[max(0, len(s)-64):]} {
		for i, c := range end {
			escape := c == '\\' && i+1 < len(end) || i > 0 && end[i-1] == '\\'
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/=_-", c) >= 0 || escape) {
				return false
			}
		}
	}
	return true
}

func decodedSize(base64 []byte) int64 {
	n := int64(len(base64))
	for n > 0 && base64[n-1] == '=' {
		n--
	}
	return n * 3 / 4
}
