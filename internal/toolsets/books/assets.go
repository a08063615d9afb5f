package books

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// presignedFrom is the size in bytes from which an asset is uploaded to its own URL.
const presignedFrom = 10 << 20

// UploadAssetIn is the input of upload_asset: an asset, or the size of one to be uploaded.
type UploadAssetIn struct {
	BookID     string  `json:"book_id"`
	AssetType  string  `json:"asset_type"`
	Filename   string  `json:"filename"`
	BinaryData *string `json:"binary_data"`
	FileSize   *int64  `json:"file_size"`
}

// UploadAssetOut is the output of upload_asset: the asset's location, or the upload URL.
type UploadAssetOut struct {
	Status    string `json:"status"`
	Method    string `json:"method"`
	UploadURL string `json:"upload_url,omitempty"`
	CDNURL    string `json:"cdn_url"`
	FileSize  *int64 `json:"file_size,omitempty"`
	MIME      string `json:"mime_type,omitempty"`
	Path      string `json:"path,omitempty"`
	// The name that was kept, if it is not the given one.
	Filename  string             `json:"filename,omitempty"`
	Replaced  bool               `json:"replaced,omitempty"`
	ExpiresIn int                `json:"expires_in,omitempty"`
	Headers   *map[string]string `json:"headers,omitempty"` // may be empty
	Note      string             `json:"note,omitempty"`

	beside string // a note
}

// Metadata says how long the upload URL really lives.
func (out UploadAssetOut) Metadata() jsontree.Value { return noted(out.beside) }

// Check refuses an upload with neither or both of binary_data and file_size, or without a name.
func (in UploadAssetIn) Check() error {
	if (in.BinaryData == nil) == (in.FileSize == nil) {
		return contract.Errorf(contract.Invalid, "Send exactly one of binary_data (less than 10 MiB, as base64) and file_size (10 to 100 MiB, to get a URL for the upload)").With("field", "binary_data")
	}
	_, err := fileName(in.Filename)
	return err
}

// UploadAsset stores an asset or returns an upload URL.
func (t *Tools) UploadAsset(ctx context.Context, in UploadAssetIn) (UploadAssetOut, error) {
	name, err := fileName(in.Filename)
	if err != nil {
		return UploadAssetOut{}, err
	}
	path := assetPath(in.AssetType, name)
	if in.BinaryData == nil {
		return t.presigned(ctx, in, name)
	}
	data, err := decoded(*in.BinaryData)
	if err != nil {
		return UploadAssetOut{}, err
	}
	h, err := t.Library.writable(ctx, in.BookID)
	if err != nil {
		return UploadAssetOut{}, err
	}
	url, err := t.Links.Asset(ctx, h.key(path))
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	done, err := t.Library.write(ctx, h, path, contentOf(data), edit{by: by(ctx), op: opUpload, seen: engine.Seen(ctx)})
	out := UploadAssetOut{
		Status: success, Method: "direct", CDNURL: url, FileSize: &done.Size,
		MIME: mimeOf(data[:min(len(data), headSize)], name), Path: h.key(path),
		Filename: in.changed(name), Replaced: !done.created && !done.same,
	}
	out.Note = done.added.note()
	return out, err
}

// changed returns the name that was kept if it is not the given one.
func (in UploadAssetIn) changed(name string) string {
	if name == in.Filename {
		return ""
	}
	return name
}

// presigned returns an upload URL for an asset. It is always one of this program, also if the store
// could sign one: a URL of the store would outlive the caller's token, work more than once, and
// leave no record.
func (t *Tools) presigned(ctx context.Context, in UploadAssetIn, name string) (UploadAssetOut, error) {
	h, err := t.Library.writable(ctx, in.BookID)
	if err != nil {
		return UploadAssetOut{}, err
	}
	path, size := assetPath(in.AssetType, name), *in.FileSize
	key := h.key(path)
	old, err := h.store.Stat(ctx, key) // refuses what the secret policy denies
	if err != nil && !errors.Is(err, ErrNotFound) {
		return UploadAssetOut{}, failureAt(ctx, key, err)
	}
	if err := t.Library.checkSeen(ctx, h, path); err != nil {
		return UploadAssetOut{}, err
	}
	url, err := t.Links.Asset(ctx, key)
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	link, err := t.Links.Upload(ctx, Upload{Key: key, Size: size, By: by(ctx), Seen: engine.Seen(ctx)})
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	note, err := t.Library.absentBook(ctx, h)
	return UploadAssetOut{
		Status: "presigned_url", Method: "presigned", UploadURL: link.URL, CDNURL: url,
		ExpiresIn: link.Seconds(), Headers: &map[string]string{},
		Filename: in.changed(name), Replaced: old.Key != "", Note: note, beside: t.linkNote(),
	}, err
}

// decoded returns the bytes of binary_data.
func decoded(text string) ([]byte, error) {
	// base64 of mail and shells has lines.
	text = strings.NewReplacer("\r", "", "\n", "").Replace(text)
	encoding := base64.StdEncoding.Strict()
	if !strings.HasSuffix(text, "=") {
		encoding = base64.RawStdEncoding.Strict()
	}
	wrong := func(why string) *contract.Error {
		return contract.Errorf(contract.Invalid, "binary_data is not base64: %s", why).With("field", "binary_data")
	}
	if strings.HasPrefix(text, "data:") {
		return nil, wrong("it is a data: URL; send only the part after the comma")
	}
	if encoding.DecodedLen(len(text)) >= presignedFrom+3 {
		return nil, tooMuch()
	}
	data, err := encoding.DecodeString(text)
	if fault, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return nil, wrong(fmt.Sprintf("byte %d is invalid", int64(fault))).Because(err)
	}
	if len(data) >= presignedFrom {
		return nil, tooMuch()
	}
	return data, err
}

func tooMuch() error {
	return contract.Errorf(contract.Invalid, "binary_data has 10 MiB or more; send file_size instead, and PUT the bytes to the upload_url of the answer").With("field", "binary_data")
}

// GetAssetIn is the input of get_asset.
type GetAssetIn struct {
	BookID    string `json:"book_id"`
	AssetType string `json:"asset_type"`
	Filename  string `json:"filename"`
}

// ListedAsset holds the details of an asset.
type ListedAsset struct {
	CDNURL     string    `json:"cdn_url"`
	FileSize   int64     `json:"file_size"`
	MIME       string    `json:"mime_type"`
	Uploaded   time.Time `json:"upload_timestamp"`
	UploadedBy string    `json:"uploaded_by_agent_id"`
	AssetType  string    `json:"asset_type"`
	Filename   string    `json:"filename"`
}

// Check refuses a name that no asset can have.
func (in GetAssetIn) Check() error {
	_, err := uploadPath(in.Filename)
	return err
}

// GetAsset returns the details of an asset.
func (t *Tools) GetAsset(ctx context.Context, in GetAssetIn) (ListedAsset, error) {
	name, err := uploadPath(in.Filename)
	if err != nil {
		return ListedAsset{}, err
	}
	h, err := t.Library.locate(ctx, in.BookID)
	if err != nil {
		return ListedAsset{}, err
	}
	path := assetPath(in.AssetType, name)
	object, err := h.store.Stat(ctx, h.key(path))
	if err != nil {
		return ListedAsset{}, t.Library.readError(ctx, h, path, err)
	}
	found, err := t.described(ctx, h, path+"/", []Object{object})
	if err != nil {
		return ListedAsset{}, err
	}
	if len(found) == 0 {
		return ListedAsset{}, t.Library.missing(ctx, h, path)
	}
	return found[0], nil
}

// ListAssetsIn is the input of list_assets.
type ListAssetsIn struct {
	BookID    string `json:"book_id"`
	AssetType string `json:"asset_type"`
}

// ListAssetsOut is the output of list_assets.
type ListAssetsOut struct {
	Result []ListedAsset `json:"result"`

	total int
}

// maxListed is the maximum number of assets in an answer.
const maxListed = 1000

// Truncation reports whether assets were left out.
func (out ListAssetsOut) Truncation() engine.Truncation {
	return engine.Truncation{Truncated: len(out.Result) < out.total, Total: int64(out.total)}
}

// ListAssets returns the details of a book's assets, ordered by path.
func (t *Tools) ListAssets(ctx context.Context, in ListAssetsIn) (ListAssetsOut, error) {
	h, err := t.Library.locate(ctx, in.BookID)
	if err != nil {
		return ListAssetsOut{}, err
	}
	beneath := assetsPrefix
	if in.AssetType != "" {
		beneath = assetPath(in.AssetType, "")
	}
	objects, err := t.Library.files(ctx, h, beneath)
	if err != nil {
		return ListAssetsOut{}, err
	}
	if len(objects) == 0 {
		if err := t.Library.checkExists(ctx, h); err != nil {
			return ListAssetsOut{}, err
		}
	}
	objects = slices.DeleteFunc(objects, func(o Object) bool { return !isAsset(o.Key) })
	found, err := t.described(ctx, h, beneath, objects[:min(len(objects), maxListed)])
	return ListAssetsOut{Result: found, total: len(objects)}, err
}
