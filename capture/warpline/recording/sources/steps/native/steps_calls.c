/* Our own type, built with public functions of CPython that exist since 3.11. As a method descriptor with a
 * vectorcall it needs no tuple, dictionary or bound method, and enters no Python function: it costs a tenth of the
 * microsecond that a wrapper in Python adds to a module's call. */
#define _GNU_SOURCE
#include "steps_calls.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "spool.h"
#include "python_api.h"
#include "steps_records.h"

/* object.h, typeslots.h, structmember.h */
#define HAS_VECTORCALL (1u << 11)
#define IS_METHOD_DESCRIPTOR (1u << 17)
#define IS_IMMUTABLE (1u << 8 | 1u << 7) /* and cannot be subclassed */
#define HAS_VERSION (1u << 18)           /* set in every type */
#define ARGUMENTS_OFFSET ((size_t)1 << 63)
enum {
    TP_CALL = 50,
    TP_DESCR_GET = 54,
    TP_GETATTRO = 58,
    TP_METHODS = 64,
    TP_REPR = 66,
    TP_SETATTRO = 69,
    TP_MEMBERS = 72
};
enum { READ_ONLY = 1, SIZE = 19 };

enum { FORWARD = 2, EVALUATION = 3 }; /* kinds of ranges (common_hooks.py) */

struct object {
    ssize_t references;
    void *type;
};

struct call {
    struct object object;
    void *(*vectorcall)(struct call *, void *const *, size_t, void *);
    void *original, *slow, *name, *grad_enabled, *compiling, *flags, *after_calls, *paths, *labels[2];
};

struct member {
    const char *name;
    int type;
    ssize_t offset;
    int flags;
    const char *doc;
};

struct spec {
    const char *name;
    int size, item_size;
    unsigned flags;
    struct {
        int slot;
        void *function;
    } *slots;
};

static struct {
    void *(*new_type)(struct spec *);
    void *(*new_object)(void *, ssize_t);
    void *(*new_method)(void *, void *);
    void *(*vectorcall)(void *, void *const *, size_t, void *);
    void *(*call)(void *, void *, void *);
    void *(*generic_attribute)(void *, void *);
    void *(*attribute)(void *, void *);
    void *(*attribute_named)(void *, const char *);
    int (*set_attribute)(void *, void *, void *);
    void *(*represent)(void *);
    void *(*new_name)(const char *);
    void *(*find)(void *, void *);
    void *(*item)(void *, ssize_t);
    ssize_t (*length)(void *);
    int (*is_true)(void *);
    void *(*error)(void);
    int (*is_error)(void *);
    void **exception;
    void *base;
} api;

static void *training, *compiling_flag; /* names */

static bool find_functions(void)
{
    PYTHON_FIND(api.new_type, "PyType_FromSpec")
    PYTHON_FIND(api.new_object, "PyType_GenericAlloc")
    PYTHON_FIND(api.new_method, "PyMethod_New")
    PYTHON_FIND(api.vectorcall, "PyObject_Vectorcall")
    PYTHON_FIND(api.call, "PyVectorcall_Call")
    PYTHON_FIND(api.generic_attribute, "PyObject_GenericGetAttr")
    PYTHON_FIND(api.attribute, "PyObject_GetAttr")
    PYTHON_FIND(api.attribute_named, "PyObject_GetAttrString")
    PYTHON_FIND(api.set_attribute, "PyObject_SetAttr")
    PYTHON_FIND(api.represent, "PyObject_Repr")
    PYTHON_FIND(api.new_name, "PyUnicode_InternFromString")
    PYTHON_FIND(api.find, "PyDict_GetItemWithError")
    PYTHON_FIND(api.item, "PyList_GetItem")
    PYTHON_FIND(api.length, "PyList_Size")
    PYTHON_FIND(api.is_true, "PyObject_IsTrue")
    PYTHON_FIND(api.error, "PyErr_Occurred")
    PYTHON_FIND(api.is_error, "PyErr_ExceptionMatches")
    PYTHON_FIND(api.exception, "PyExc_Exception")
    PYTHON_FIND(api.base, "PyBaseObject_Type")
    return true;
}

/* A cache of `paths` by module, under the GIL; an entry is dropped when its module is gone. */
#define KNOWN_BITS 11
static struct {
    const void *module;
    uint64_t name;
} known[1 << KNOWN_BITS];

static size_t place_of(const void *module)
{
    return (size_t)(((uint64_t)(uintptr_t)module >> 4) * 0x9E3779B97F4A7C15u >> (64 - KNOWN_BITS));
}

/* Path and class of a module; 0 if unknown. */
static uint64_t name_of(const struct call *self, const void *module)
{
    size_t place = place_of(module);
    if (LIKELY(known[place].module == module))
        return known[place].name;
    void *key = py.from_long((long long)(uintptr_t)module);
    void *found = key != NULL ? api.find(self->paths, key) : NULL;
    uint64_t name = found != NULL ? py.to_number(found) : 0;
    if (key != NULL)
        py.release(key);
    py.clear_error();
    if (name != 0) {
        known[place].module = module;
        known[place].name = name;
    }
    return name;
}

void *steps_drop(void *self, void *id)
{
    (void)self;
    const void *module = (const void *)(uintptr_t)py.to_number(id);
    py.clear_error();
    size_t place = place_of(module);
    if (known[place].module == module)
        known[place].module = NULL;
    return py_none();
}

/* Clears an exception that our question raised, unless it is the program's: KeyboardInterrupt or SystemExit. */
static void forgive(void)
{
    if (api.is_error(*api.exception))
        py.clear_error();
}

/* Truth of `answer`, 1 or 0; -1 if the question failed. Releases `answer`. */
static int is_true(void *answer)
{
    int found = answer != NULL ? api.is_true(answer) : -1;
    if (answer != NULL)
        py.release(answer);
    if (found < 0)
        forgive();
    return found;
}

/* `compiling` calls a function of Python in the end; `flags` holds what that function looks at, if the framework has
 * it. */
static bool is_compiling(const struct call *self)
{
    void *flags = api.item(self->flags, 0), *flag = flags != NULL ? api.find(flags, compiling_flag) : NULL;
    if (LIKELY(flag != NULL))
        return api.is_true(flag) != 0;
    void *ask = api.item(self->compiling, 0);
    bool is_so = ask == NULL || is_true(api.vectorcall(ask, NULL, 0, NULL)) != 0;
    forgive();
    return is_so;
}

/* Whether an outermost call of a module is a plain one, and of which kind. */
static bool is_plain(const struct call *self, void *module, uint32_t *kind, uint32_t *label)
{
    if (api.length(self->after_calls) != 0 || is_compiling(self))
        return false;
    int is_training = is_true(api.attribute(module, training));
    if (is_training > 0)
        is_training = is_true(api.vectorcall(self->grad_enabled, NULL, 0, NULL));
    if (is_training < 0)
        return false;
    void *found = api.find(self->labels[!is_training], ((struct object *)module)->type);
    *kind = is_training ? FORWARD : EVALUATION;
    *label = found != NULL ? (uint32_t)py.to_number(found) : 0;
    forgive();
    return *label != 0;
}

static void *call(struct call *self, void *const *values, size_t count, void *names)
{
    uint32_t kind = 0, label = 0;
    int is_outermost;
    uint64_t name = LIKELY((count & ~ARGUMENTS_OFFSET) != 0) ? name_of(self, values[0]) : 0;
    if (UNLIKELY(name == 0 || (!steps_is_inside() && !is_plain(self, values[0], &kind, &label))))
        return api.error() == NULL ? api.vectorcall(self->slow, values, count, names) : NULL;
    uint64_t start_ns = steps_enter(&is_outermost);
    void *result = api.vectorcall(self->original, values, count, names);
    steps_leave(start_ns, (uint32_t)(name >> 32), (uint32_t)name);
    if (kind != 0)
        steps_range(start_ns, kind, label, 0, 0);
    return result;
}

static void *bind(void *self, void *object, void *type)
{
    (void)type;
    if (object != NULL && object != py.none)
        return api.new_method(self, object);
    py.retain(self);
    return self;
}

/* It has the attributes of `slow` (`__wrapped__`, `__name__`, `__doc__` …) but is not the same object. */
static void *attribute(struct call *self, void *name)
{
    static const char *const own[] = {"__class__", "__reduce__", "__reduce_ex__"};
    ssize_t length;
    const char *text = py.text(name, &length);
    for (size_t i = 0; text != NULL && i < sizeof own / sizeof own[0]; i++)
        if (strcmp(text, own[i]) == 0)
            return api.generic_attribute(self, name);
    return text != NULL ? api.attribute(self->slow, name) : NULL;
}

static int set_attribute(struct call *self, void *name, void *value)
{
    return api.set_attribute(self->slow, name, value);
}

static void *represent(struct call *self) { return api.represent(self->slow); }

/* Copied and pickled by name, like functions. */
static void *reduce(struct call *self, void *unused)
{
    (void)unused;
    py.retain(self->name);
    return self->name;
}

static void *make_type(void)
{
    static struct python_builtin methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
    static struct member members[] = {
        {"__vectorcalloffset__", SIZE, offsetof(struct call, vectorcall), READ_ONLY, NULL}, {NULL, 0, 0, 0, NULL}};
    static __typeof__(*((struct spec *)NULL)->slots) slots[] = {
        {TP_CALL, NULL},      {TP_DESCR_GET, bind},  {TP_GETATTRO, attribute}, {TP_SETATTRO, set_attribute},
        {TP_REPR, represent}, {TP_METHODS, methods}, {TP_MEMBERS, members},    {0, NULL}};
    static struct spec spec = {"_warpline.call", sizeof(struct call), 0,
                               HAS_VERSION | HAS_VECTORCALL | IS_METHOD_DESCRIPTOR | IS_IMMUTABLE, slots};
    slots[0].function = (void *)api.call;
    return api.new_type(&spec);
}

/* An object begins with a reference count and a type, except in free-threaded builds and in builds that list all
 * objects. */
static bool is_known_layout(void)
{
    void *size = api.attribute_named(api.base, "__basicsize__");
    bool is_known = size != NULL && py.to_number(size) == sizeof(struct object);
    if (size != NULL)
        py.release(size);
    return is_known;
}

void *steps_quick_call(void *self, void *const *values, ssize_t count)
{
    (void)self;
    static void *type; /* under the GIL */
    if (type == NULL && find_functions() && is_known_layout() && (training = api.new_name("training")) != NULL &&
        (compiling_flag = api.new_name("_is_compiling_flag")) != NULL)
        type = make_type();
    struct call *made = type != NULL && count == 10 ? api.new_object(type, 0) : NULL;
    if (made == NULL) {
        py.clear_error();
        return py_none();
    }
    for (ssize_t i = 0; i < count; i++)
        py.retain(values[i]);
    *made = (struct call){made->object,
                          call,
                          values[0],
                          values[1],
                          values[2],
                          values[3],
                          values[4],
                          values[5],
                          values[6],
                          values[7],
                          {values[8], values[9]}};
    py.retain(made); /* never freed: anybody may hold it */
    return made;
}
