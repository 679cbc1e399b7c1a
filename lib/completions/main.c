/* completions SHELL: writes the completion script for bash, zsh or fish to standard output. Runs while amn is built; the
 * scripts are made from the option tables of the tools. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/tools.h"
#include "encode/encode.h"
#include "scheme/scheme.h"

static const char *
verb_of(const struct cli_tool *tool)
{
    return tool->name + strlen("amn-");
}

/* Prints the names of a tool, each after `before`; `verbs`: without "amn-". Parts of amn have a name as a verb only. */
static void
put_names(const struct cli_tool *tool, const char *before, bool verbs)
{
    size_t skip = 0;
    if (verbs)
        skip = strlen("amn-");
    if (!verbs && !cli_is_program(tool))
        return;
    printf("%s%s", before, tool->name + skip);
    if (tool->also)
        printf("%s%s", before, tool->also + skip);
}

/* Prints the case label for a tool in the shell functions below: amn-VERB, even if that is not a program, its second name, and
 * the verbs that are short for its options. */
static void
put_case(const struct cli_tool *tool)
{
    printf("    amn-%s", verb_of(tool));
    if (tool->also)
        printf(" | %s", tool->also);
    for (const struct cli_verb *form = cli_verbs; tool == &cli_tools[CLI_INSPECT] && form->verb; form++)
        printf(" | amn-%s", form->verb);
    puts(")");
}

/* Prints the names, or the verbs, of all tools. */
static void
put_all_names(const char *before, bool verbs)
{
    for (unsigned i = 0; i < CLI_TOOLS; i++)
        put_names(&cli_tools[i], before, verbs);
    for (const struct cli_verb *form = cli_verbs; verbs && form->verb; form++)
        printf("%s%s", before, form->verb);
}

/* Returns true if an option of a tool takes a list of words, with commas: with --exact, --scheme does. */
static bool
is_list(unsigned tool, const struct cli_option *o)
{
    return tool == CLI_FORGET && o->key == 's';
}

/* Returns possible argument i of an option of a tool, or NULL. --scheme of amn-forget names an encoder or a target of --exact,
 * --scheme of the other tools a decoder. */
static const char *
word_at(unsigned tool, const struct cli_option *o, size_t i)
{
    if (o->key == 's') {
        size_t n = 0;
        while (n <= i && encode_at(n))
            n++;
        const struct encoder *e = encode_at(i);
        if (!e && is_list(tool, o))
            e = encode_exact_at(i - n);
        if (e)
            return e->name;
        return NULL;
    }
    if (o->key == CLI_OPT_INPUT_SCHEME)
        return scheme_code(i);
    if (o->words)
        return o->words[i];
    return NULL;
}

static void
put_words(unsigned tool, const struct cli_option *o)
{
    for (size_t i = 0; word_at(tool, o, i); i++)
        printf("%s%s", i ? " " : "", word_at(tool, o, i));
}

static void
put_list(const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        printf("%s%s", i ? " " : "", words[i]);
}

/* Prints the topics of `amn help`. */
static void
put_pages(void)
{
    static const char *const others[] = { "amn", "adapters", "exact", "family", "fetch", "formats", "json", "memory", "schemes",
        "writers", "help", "topics", NULL };
    put_list(others);
    put_all_names(" ", true);
}

/* The models of a store, as operands; the shells write %s where the store is. */
#define STORED "amn list --json %s 2>/dev/null | sed -n 's/.*\"name\":\"\\([^\"]*\\)\".*/\\1/p'"

static bool
is_file(const struct cli_option *o)
{
    return o->arg && strcmp(o->arg, "FILE") == 0;
}

/* --- bash: two functions that hold data, and one that uses them */

static void
bash_options(void)
{
    puts("# The long options of a tool.\n_amn_options()\n{\n    case $1 in");
    for (unsigned i = 0; i < CLI_TOOLS; i++) {
        put_case(&cli_tools[i]);
        printf("        echo '");
        for (const struct cli_option *o = cli_options_of_all; o->name; o++)
            if (cli_offers(i, o))
                printf("--%s%s ", o->name, o->arg ? "=" : "");
        puts("' ;;");
    }
    puts("    esac\n}\n");
}

static void
bash_value(unsigned tool, const struct cli_option *o)
{
    printf("        --%s", o->name);
    if (o->key < CLI_LONG)
        printf(" | -%c", o->key);
    printf(") echo '");
    printf(is_list(tool, o) ? "@list " : "");
    if (word_at(tool, o, 0))
        put_words(tool, o);
    else
        printf(is_file(o) ? "@file" : "@any");
    puts("' ;;");
}

/* The arguments of an option depend on the tool: another tool's option of the same name may take others, or none. */
static void
bash_values(void)
{
    puts("# What the argument of an option of a tool can be, or its operand: words, @list before words of a list, @file, or\n"
        "# @any. Nothing: a file as an operand; an option without an argument.\n"
        "_amn_values()\n{\n    case $1 in");
    for (unsigned i = 0; i < CLI_TOOLS; i++) {
        put_case(&cli_tools[i]);
        puts("        case $2 in");
        if (cli_tools[i].words) {
            printf("        operand) echo '");
            put_list(cli_tools[i].words);
            puts("' ;;");
        }
        for (const struct cli_option *o = cli_options_of_all; o->name; o++)
            if (o->arg && cli_offers(i, o))
                bash_value(i, o);
        puts("        esac ;;");
    }
    puts("    esac\n}\n");
}

static void
put_bash(void)
{
    puts("# Completion of amn and its tools for bash. Made from their tables of options.\n");
    bash_options();
    bash_values();
    printf("# The models of a store.\n_amn_stored()\n{\n    " STORED "\n}\n\n", "\"$1\"");
    fputs("_amn()\n"
        "{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]##*/} values=\n"
        "    # bash makes hf:org/name into three words: hf, : and org/name.\n"
        "    local operand=${COMP_LINE:0:COMP_POINT}\n"
        "    operand=${operand##* }\n"
        "    COMPREPLY=()\n"
        "    if [ \"$tool\" = amn ] && [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        COMPREPLY=($(compgen -W 'help", stdout);
    put_all_names(" ", true);
    fputs(" --help --version' -- \"$cur\"))\n"
        "        return\n"
        "    fi\n"
        "    if [ \"$tool\" = amn ] && [ \"${COMP_WORDS[1]}\" = help ]; then\n"
        "        [ \"$COMP_CWORD\" -ne 2 ] || COMPREPLY=($(compgen -W '", stdout);
    put_pages();
    puts("' -- \"$cur\"))\n"
        "        return\n"
        "    fi\n"
        "    [ \"$tool\" != amn ] || tool=amn-${COMP_WORDS[1]}\n"
        "    # bash makes --to=bf into three words: --to, = and bf.\n"
        "    if [ \"$cur\" = = ]; then\n"
        "        cur=\n"
        "    elif [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n"
        "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    fi\n"
        "    case $prev in -*) values=$(_amn_values \"$tool\" \"$prev\") ;; esac\n"
        "    [[ -n $values || $cur == -* ]] || values=$(_amn_values \"$tool\" operand)\n"
        "    case $values in\n"
        "    @any) ;;\n"
        "    @file | '')\n"
        "        if [[ -z $values && $operand =~ ^(hf|ollama):[^\\\"]*$ ]]; then\n"
        "            COMPREPLY=($(compgen -W \"$(_amn_stored \"${operand%%:*}\")\" -- \"$operand\"))\n"
        "            [[ $COMP_WORDBREAKS != *:* ]] || COMPREPLY=(\"${COMPREPLY[@]#\"${operand%\"${operand##*:}\"}\"}\")\n"
        "        elif [ -z \"$values\" ] && [[ $cur == -* ]]; then\n"
        "            COMPREPLY=($(compgen -W \"$(_amn_options \"$tool\")\" -- \"$cur\"))\n"
        "            [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
        "        else\n"
        "            compopt -o filenames 2>/dev/null\n"
        "            local IFS=$'\\n'\n"
        "            COMPREPLY=($(compgen -f -- \"$cur\"))\n"
        "        fi\n"
        "        ;;\n"
        "    '@list '*)\n"
        "        local before=${cur%\"${cur##*,}\"}\n"
        "        cur=${cur##*,} values=${values#@list }\n"
        "        COMPREPLY=($(compgen -P \"$before\" -W \"$values\" -- \"$cur\"))\n"
        "        [ ${#COMPREPLY[@]} -ne 0 ] || COMPREPLY=($(compgen -P \"$before\" -W \"$values\" -- \"${cur,,}\"))\n"
        "        ;;\n"
        "    *)\n"
        "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
        "        [ ${#COMPREPLY[@]} -ne 0 ] || COMPREPLY=($(compgen -W \"$values\" -- \"${cur,,}\"))     # as --scheme does\n"
        "        ;;\n"
        "    esac\n"
        "}");
    fputs("complete -F _amn amn", stdout);
    put_all_names(" ", false);
    putchar('\n');
}

/* --- zsh: the specs of _arguments */

/* Prints an option spec. The texts go inside single quotes and brackets: the tables must not contain ' [ ] \, and a test
 * runs the result. */
static void
zsh_option(unsigned tool, const struct cli_option *o)
{
    const char *value = "";
    if (cli_is_optional(o))
        value = "=-";
    else if (o->arg)
        value = "=";
    if (o->key < CLI_LONG)
        printf("            '(-%c --%s)'{-%c%s,--%s%s}'[%s]", o->key, o->name, o->key, o->arg ? "+" : "", o->name, value,
            o->help);
    else
        printf("            '--%s%s[%s]", o->name, value, o->help);
    if (o->arg)
        printf("%s:%s:", cli_is_optional(o) ? ":" : "", o->arg);
    if (is_list(tool, o)) {
        fputs("_sequence compadd - ", stdout);
        put_words(tool, o);
    } else if (word_at(tool, o, 0)) {
        putchar('(');
        put_words(tool, o);
        putchar(')');
    } else if (is_file(o)) {
        fputs("_files", stdout);
    }
    puts("' \\");
}

static void
zsh_verb(const struct cli_tool *tool)
{
    printf("        '%s:%s'\n", verb_of(tool), tool->purpose);
    if (tool->also)
        printf("        '%s:%s'\n", tool->also + strlen("amn-"), tool->purpose);
}

static void
put_zsh(void)
{
    fputs("#compdef amn", stdout);
    put_all_names(" ", false);
    puts("\n# Completion of amn and its tools for zsh. Made from their tables of options.\n\n_amn_model()\n{\n"
        "    if [[ $PREFIX != (hf|ollama):* ]]; then\n        _files\n        return\n    fi");
    printf("    compadd -- ${(f)\"$(" STORED ")\"}\n}\n\n_amn_tool()\n{\n    case $1 in\n", "${PREFIX%%:*}");
    for (unsigned i = 0; i < CLI_TOOLS; i++) {
        put_case(&cli_tools[i]);
        puts("        _arguments -s -S \\");
        for (const struct cli_option *o = cli_options_of_all; o->name; o++)
            if (cli_offers(i, o))
                zsh_option(i, o);
        printf("            '%s:", cli_tools[i].max_operands > 1 ? "*" : "");
        if (cli_tools[i].words) {
            fputs("store:(", stdout);
            put_list(cli_tools[i].words);
            puts(")' ;;");
        } else {
            puts("model:_amn_model' ;;");
        }
    }
    puts("    *) _files ;;\n    esac\n}\n");
    puts("_amn()\n{\n    local -a verbs pages\n    verbs=(");
    for (unsigned i = 0; i < CLI_TOOLS; i++)
        zsh_verb(&cli_tools[i]);
    for (const struct cli_verb *form = cli_verbs; form->verb; form++)
        printf("        \"%s:%s\"\n", form->verb, cli_verb_purpose(form));
    puts("        'help:show a manual page'\n    )");
    fputs("    pages=(", stdout);
    put_pages();
    puts(")\n"
        "    if [[ $service != amn ]]; then\n"
        "        _amn_tool $service\n"
        "    elif (( CURRENT == 2 )); then\n"
        "        _describe verb verbs\n"
        "    elif [[ $words[2] == help ]]; then\n"
        "        (( CURRENT == 3 )) && _describe page pages\n"
        "    else\n"
        "        local verb=$words[2]\n"
        "        shift words\n"
        "        (( CURRENT-- ))\n"
        "        _amn_tool amn-$verb\n"
        "    fi\n"
        "}\n"
        "\n"
        "_amn \"$@\"");
}

/* --- fish: one command for each option */

/* Prints an option; `of` is the condition for the command lines it applies to. */
static void
fish_option(unsigned tool, const struct cli_option *o, const char *of)
{
    printf("complete %s -l %s", of, o->name);
    if (o->key < CLI_LONG)
        printf(" -s %c", o->key);
    if (word_at(tool, o, 0)) {
        fputs(is_list(tool, o) ? " -x -a '(__fish_append , " : " -x -a '", stdout);
        put_words(tool, o);
        fputs(is_list(tool, o) ? ")'" : "'", stdout);
    } else if (o->arg) {
        fputs(is_file(o) ? " -r -F" : " -x", stdout);
    }
    printf(" -d '%s'\n", o->help);
}

static void
fish_tool(unsigned i)
{
    const struct cli_tool *tool = &cli_tools[i];
    const bool inspect = i == CLI_INSPECT;
    char of[256], forms[64] = "";
    for (const struct cli_verb *form = cli_verbs; inspect && form->verb; form++)
        snprintf(forms + strlen(forms), sizeof forms - strlen(forms), " %s", form->verb);
    int n = snprintf(of, sizeof of, "-c amn -n '__fish_seen_subcommand_from %s%s%s%s'", verb_of(tool), tool->also ? " " : "",
        tool->also ? tool->also + strlen("amn-") : "", forms);
    if (n < 0 || (size_t)n >= sizeof of)
        return;
    printf("\n# amn %s\n", verb_of(tool));
    printf("complete -c amn -n __fish_use_subcommand -f -a %s -d '%s'\n", verb_of(tool), tool->purpose);
    for (const struct cli_verb *form = cli_verbs; inspect && form->verb; form++)
        printf("complete -c amn -n __fish_use_subcommand -f -a %s -d \"%s\"\n", form->verb, cli_verb_purpose(form));
    if (tool->also)
        printf("complete -c %s -w %s\n", tool->also, tool->name);
    if (tool->words) {
        printf("complete %s -f -a '", of);
        put_list(tool->words);
        puts("'");
    } else {
        if (cli_is_program(tool))
            printf("complete -c %s -n __amn_names_store -f -a '(__amn_stored)'\n", tool->name);
        printf("complete %s -n __amn_names_store -f -a '(__amn_stored)'\n", of);
    }
    for (const struct cli_option *o = cli_options_of_all; o->name; o++)
        if (cli_offers(i, o)) {
            char alone[64];
            snprintf(alone, sizeof alone, "-c %s", tool->name);
            if (cli_is_program(tool))
                fish_option(i, o, alone);
            fish_option(i, o, of);
        }
}

static void
put_fish(void)
{
    puts("# Completion of amn and its tools for fish. Made from their tables of options.\n");
    puts("function __amn_names_store\n    string match -qr '^(hf|ollama):' -- (commandline -ct)\nend\n\nfunction __amn_stored");
    printf("    " STORED "\nend\n\n", "(string split -m 1 : -- (commandline -ct))[1]");
    puts("complete -c amn -n __fish_use_subcommand -f -a help -d 'show a manual page'");
    fputs("complete -c amn -n '__fish_seen_subcommand_from help' -f -a '", stdout);
    put_pages();
    puts("'");
    for (unsigned i = 0; i < CLI_TOOLS; i++)
        fish_tool(i);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *shell;
        void (*put)(void);
    } shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };
    struct err err;
    err_init(&err);
    for (size_t i = 0; argc == 2 && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(argv[1], shells[i].shell) == 0) {
            shells[i].put();
            if (cli_finish_stdout(&err))
                return CLI_OK;
            return cli_status(err.kind);
        }
    fputs("usage: completions bash|zsh|fish\n", stderr);
    return CLI_USAGE;
}
