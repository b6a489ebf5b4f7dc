package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Recognize reports why the file at path can never become a database to record
// into: it belongs to another program, is newer than this agentrec, cut short
// or no database at all. It only reads the file's first bytes, so a database
// that others have locked is no error; one that does not exist or is empty
// neither. It is called before this process opens the database: closing the
// file would drop SQLite's locks on it.
func Recognize(path string) error {
	if path == "" { // a variable that is not set, most likely
		return errors.New("its name is empty")
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if link, lerr := os.Lstat(path); lerr == nil && link.Mode()&os.ModeSymlink != 0 {
			return errors.New("it is a link to nowhere")
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no directory %s", dir)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a named pipe would wait for its other end
		return errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, headLength)
	n, err := io.ReadFull(f, head)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case string(head[:min(n, len(headMagic))]) != headMagic:
		return errors.New("it is not a database")
	case n < headLength:
		return errCutShort
	}
	if err := headVersion(head); err != nil {
		return err
	}
	// Who has the database open may be moving pages from its log into it, the
	// first one first; who closed it did that to the end.
	if exists(path+"-wal") || exists(path+"-journal") {
		return nil
	}
	if info, err = f.Stat(); err != nil {
		return err
	}
	if info.Size() < headSize(head) && !exists(path+"-wal") {
		return errCutShort
	}
	return nil
}

// The first bytes of a database (SQLite's "Database File Format", 1.3 and 1.6):
// the file's header, then the header of its first page.
const (
	headMagic  = "SQLite format 3\x00"
	headLength = 108
)

var errCutShort = errors.New("it is a database that was cut short")

// headVersion is version, as far as the first bytes tell.
func headVersion(head []byte) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	app, ver := binary.BigEndian.Uint32(head[68:]), binary.BigEndian.Uint32(head[60:])
	empty := head[100] == 13 && binary.BigEndian.Uint16(head[103:]) == 0 // a leaf without cells: no tables yet
	switch {
	case app == 0 && ver == 0 && empty:
		return nil
	case app != applicationID || ver < 1:
		return errors.New("it is a database of another program")
	case ver > uint32(len(files)):
		return fmt.Errorf("it was written by a newer agentrec (schema %d, this one knows %d); use that one", ver, len(files))
	}
	return nil
}

// headSize is how long the file has to be, 0 when its header does not tell.
func headSize(head []byte) int64 {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 64 << 10
	}
	if binary.BigEndian.Uint32(head[24:]) != binary.BigEndian.Uint32(head[92:]) {
		return 0 // the count is older than the last change
	}
	return page * int64(binary.BigEndian.Uint32(head[28:]))
}
