package jsontree

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Decode stores the value in the variable that into points to, by the rules of encoding/json with
// json tags. It ignores members that the struct does not name. A type with its own UnmarshalJSON
// gets the original bytes.
func (v *Value) Decode(into any) error {
	return v.decode(reflect.ValueOf(into).Elem())
}

var (
	valueType       = reflect.TypeFor[Value]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (v *Value) decode(target reflect.Value) error {
	t := target.Type()
	switch {
	case t == valueType:
		target.Set(reflect.ValueOf(*v))
		return nil
	case mayHaveMethods(t) && reflect.PointerTo(t).Implements(unmarshalerType):
		return target.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(v.Source())
	case v.Kind == Null:
		target.SetZero()
		return nil
	case v.Kind == String && mayHaveMethods(t) && reflect.PointerTo(t).Implements(textType):
		return target.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.Text))
	}
	switch target.Kind() {
	case reflect.Struct:
		return v.decodeStruct(target)
	case reflect.Slice:
		return v.decodeSlice(target)
	case reflect.Map:
		return v.decodeMap(target)
	case reflect.Pointer:
		target.Set(reflect.New(t.Elem()))
		return v.decode(target.Elem())
	default:
		return v.decodeScalar(target)
	}
}

// mayHaveMethods reports whether a pointer to a type can have methods: those declared for a named
// type, and those that a struct embeds. The check for methods needs the pointer's type, which is
// slow to get for a string or a slice.
func mayHaveMethods(t reflect.Type) bool { return t.PkgPath() != "" || t.Kind() == reflect.Struct }

// Source returns the original bytes of the value, or its compact form if it was made in Go.
func (v *Value) Source() []byte {
	if v.Raw != nil {
		return v.Raw
	}
	return v.Append(nil)
}

func (v *Value) decodeScalar(target reflect.Value) error {
	switch {
	case v.Kind == String && target.Kind() == reflect.String:
		target.SetString(v.Text)
		return nil
	case v.Kind == Bool && target.Kind() == reflect.Bool:
		target.SetBool(v.True())
		return nil
	case v.Kind == Number && target.CanInt():
		n, err := strconv.ParseInt(v.Text, 10, target.Type().Bits())
		if err == nil {
			target.SetInt(n)
			return nil
		}
	}
	if digits, ok := wholeDigits(v.Text); ok && v.Kind == Number && (target.CanInt() || target.CanUint()) {
		// 2.0 and 1e3 are integers too.
		return json.Unmarshal([]byte(digits), target.Addr().Interface())
	}
	return json.Unmarshal(v.Source(), target.Addr().Interface()) // floats and mismatches
}

func (v *Value) decodeStruct(target reflect.Value) error {
	if v.Kind != Object {
		return fmt.Errorf("%s cannot be read into %s", v.Kind, target.Type())
	}
	fields := Fields(target.Type())
	for i := range v.Members {
		field, ok := named(fields, v.Members[i].Key)
		if !ok {
			continue
		}
		if err := v.Members[i].Value.decode(target.Field(field.Index)); err != nil {
			return fmt.Errorf("%s: %w", v.Members[i].Key, err)
		}
	}
	return nil
}

func (v *Value) decodeSlice(target reflect.Value) error {
	if v.Kind != Array {
		return json.Unmarshal(v.Source(), target.Addr().Interface())
	}
	target.Set(reflect.MakeSlice(target.Type(), len(v.Members), len(v.Members)))
	for i := range v.Members {
		if err := v.Members[i].Value.decode(target.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (v *Value) decodeMap(target reflect.Value) error {
	t := target.Type()
	if v.Kind != Object || t.Key().Kind() != reflect.String {
		return json.Unmarshal(v.Source(), target.Addr().Interface())
	}
	target.Set(reflect.MakeMapWithSize(t, len(v.Members)))
	for i := range v.Members {
		element := reflect.New(t.Elem()).Elem()
		if err := v.Members[i].Value.decode(element); err != nil {
			return fmt.Errorf("%s: %w", v.Members[i].Key, err)
		}
		target.SetMapIndex(reflect.ValueOf(v.Members[i].Key).Convert(t.Key()), element)
	}
	return nil
}

// Field is a struct field with a name in JSON.
type Field struct {
	Name      string
	Index     int
	Type      reflect.Type
	omitEmpty bool
	plain     bool // only its kind decides how it is written, not its type or methods
}

// plans caches the fields of struct types, because reading tags is slow. There are few types, so it
// stays small.
var plans sync.Map // []Field by reflect.Type

// Fields lists the fields of a struct type that have a name in JSON.
func Fields(t reflect.Type) []Field {
	if known, ok := plans.Load(t); ok {
		return known.([]Field)
	}
	var fields []Field
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields = append(fields, Field{name, i, t.Field(i).Type, options == "omitempty", !isSpecial(t.Field(i).Type)})
		}
	}
	plans.Store(t, fields)
	return fields
}

// FieldNamed returns the field of a struct type with this name in JSON.
func FieldNamed(t reflect.Type, name string) (Field, bool) {
	return named(Fields(t), name)
}

func named(fields []Field, name string) (Field, bool) {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i], true
		}
	}
	return Field{}, false
}

var (
	bytesType     = reflect.TypeFor[[]byte]()
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	texterType    = reflect.TypeFor[encoding.TextMarshaler]()
)

// Of converts a Go value to a tree, in the order of its fields, by the rules of encoding/json with
// json tags. Times are in UTC, to the second.
func Of(value any) (Value, error) {
	if value == nil {
		return Value{}, nil
	}
	return of(reflect.ValueOf(value))
}

func of(v reflect.Value) (Value, error) {
	t := v.Type()
	switch {
	case t == timeType:
		return Str(v.Interface().(time.Time).UTC().Format(time.RFC3339)), nil
	case t == valueType:
		return v.Interface().(Value), nil
	case isSpecial(t):
		return ofMarshaled(v)
	}
	return ofKind(v)
}

// isSpecial reports whether a type has its own encoding. The check takes longer than writing most
// values, so the cached fields of structs store the result.
func isSpecial(t reflect.Type) bool {
	return t == timeType || t == valueType || t == bytesType || t.Implements(marshalerType) || t.Implements(texterType)
}

func ofKind(v reflect.Value) (Value, error) {
	switch v.Kind() {
	case reflect.String:
		return Str(v.String()), nil
	case reflect.Bool:
		return Boolean(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(v.Int()), nil
	case reflect.Struct:
		return ofStruct(v)
	case reflect.Slice:
		return ofSlice(v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return Value{}, nil
		}
		return of(v.Elem())
	default:
		return ofMarshaled(v)
	}
}

func ofMarshaled(v reflect.Value) (Value, error) {
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return Value{}, fmt.Errorf("encode %s: %w", v.Type(), err)
	}
	return Parse(data)
}

func ofStruct(v reflect.Value) (Value, error) {
	fields := Fields(v.Type())
	tree := Obj(make([]Member, 0, len(fields))...)
	for _, f := range fields {
		if f.omitEmpty && v.Field(f.Index).IsZero() {
			continue
		}
		write := of
		if f.plain {
			write = ofKind
		}
		member, err := write(v.Field(f.Index))
		if err != nil {
			return tree, fmt.Errorf("%s: %w", f.Name, err)
		}
		tree.Members = append(tree.Members, Member{Key: f.Name, Value: member})
	}
	return tree, nil
}

func ofSlice(v reflect.Value) (Value, error) {
	tree := Value{Kind: Array, Members: make([]Member, v.Len())}
	for i := range v.Len() {
		element, err := of(v.Index(i))
		if err != nil {
			return tree, err
		}
		tree.Members[i].Value = element
	}
	return tree, nil
}
