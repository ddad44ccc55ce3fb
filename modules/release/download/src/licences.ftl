<#-- A line for each library: artifact|version|licences|page. -->
<#list dependencyMap as entry>
${entry.key.artifactId}|${entry.key.version}|<#list entry.value as licence>${licence}<#sep>, </#list>|${entry.key.url!""}
</#list>
