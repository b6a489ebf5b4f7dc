package tape

import (
	"os"

	"golang.org/x/sys/windows"
)

// openFile is os.OpenFile for an existing tape, or with O_EXCL for a new one,
// but lets the file be renamed and removed while it is open, as elsewhere: Go
// opens files without FILE_SHARE_DELETE.
func openFile(path string, flag int, _ os.FileMode) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	access := uint32(windows.GENERIC_READ)
	switch {
	case flag&os.O_APPEND != 0:
		access |= windows.FILE_APPEND_DATA | windows.SYNCHRONIZE
	case flag&os.O_RDWR != 0:
		access |= windows.GENERIC_WRITE
	}
	create := uint32(windows.OPEN_EXISTING)
	if flag&os.O_EXCL != 0 {
		create = windows.CREATE_NEW
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, access, share, nil, create, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// removeFile closes the tape first: until then the name of a removed file is not
// free.
func removeFile(f *os.File, path string) {
	f.Close()
	os.Remove(path)
}
